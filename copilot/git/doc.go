// Package git is the only place that runs git. A repository that somebody opens,
// or that a clone has brought, can name programs in its configuration and
// attributes: hooks, filters, an fsmonitor, editors, signers. None of them runs.
//
// How: git finds the repository and reads a few harmless settings of it
// ([Open]), which starts no program. All else runs in a git directory of our own,
// a private temporary one, which borrows objects and references of the repository
// by links but has a configuration of its own, so that no filter, hook or program
// is defined in it. The environment and the user's and system's configuration are
// left out as well. What git cannot do without running a program, it does not do
// here: a filtered file is compared and listed as it is, and is not committed.
//
// It needs git 2.32 or newer, and references in files (no reftable).
package git
