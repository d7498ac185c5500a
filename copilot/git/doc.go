// Package git is the only package that runs git. A repository that a user opens or clones can name programs in its
// configuration and attributes: hooks, filters, an fsmonitor, editors, signers. This package runs none of them.
//
// [Open] calls git to find the repository and to read a few harmless settings, which starts no program. All other calls
// use a private temporary git directory. It refers to the objects and references of the repository by links but has its
// own configuration, which defines no filter, hook or program. It also ignores the environment and the configuration of
// the user and the system. Work that git cannot do without a program is not done: a filtered file is compared and
// listed unfiltered, and is not committed.
//
// The package needs git 2.32 or newer, and references in files (no reftable).
package git
