package git

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// LogEntry is a commit.
type LogEntry struct {
	Hash, Subject, Body string
}

// Commits returns the newest commits of a revision or range, newest first: at most n, none if the revision does not exist.
func (r *Repository) Commits(ctx context.Context, revisions string, n int) (list []LogEntry, err error) {
	if err := r.copyHead(); err != nil {
		return nil, err
	}
	out, err := r.run(ctx, nil, "log", "-z", "--no-show-signature", "--format=%H%n%s%n%b", "--max-count="+strconv.Itoa(n), "--end-of-options", revisions, "--")
	var failed *Error
	if errors.As(err, &failed) {
		return nil, nil
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		if hash, rest, ok := strings.Cut(entry, "\n"); ok {
			subject, body, _ := strings.Cut(rest, "\n")
			list = append(list, LogEntry{hash, subject, strings.TrimSpace(body)})
		}
	}
	return list, err
}

// Remote is a remote repository on GitHub.
type Remote struct {
	Name  string // of the remote
	Owner string
	Repo  string
	URL   string // made from the parts: nothing else of the configured one is used
}

// String returns "owner/repo".
func (r Remote) String() string { return r.Owner + "/" + r.Repo }

// IsSameOwner reports whether both have the same owner; GitHub ignores case.
func (r Remote) IsSameOwner(other Remote) bool { return strings.EqualFold(r.Owner, other.Owner) }

// githubURL matches addresses on GitHub. No part of one can look like an option or another host.
var githubURL = regexp.MustCompile(`^(https://|ssh://git@|git@)(?:[\w.-]+@)?(?:www\.)?github\.com(?::22)?[/:]([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9_.-]*[A-Za-z0-9_-])/?$`)

// ParseRemote reads the address of a remote. ok is false if it is not on github.com.
func ParseRemote(name, address string) (r Remote, ok bool) {
	parts := githubURL.FindStringSubmatch(strings.TrimSuffix(strings.TrimSuffix(address, "/"), ".git"))
	if parts == nil {
		return r, false
	}
	r = Remote{Name: name, Owner: parts[2], Repo: parts[3]}
	r.URL = "https://github.com/" + r.String() + ".git"
	if parts[1] != "https://" {
		r.URL = "git@github.com:" + r.String() + ".git"
	}
	return r, true
}

// Remotes returns the remotes on GitHub: first the one to push a branch to, which is the branch's own, "origin", or the only one.
func (r *Repository) Remotes(ctx context.Context, branch string) (list []Remote, err error) {
	settings, err := readConfig(ctx, r.Top, r.git, `^(remote\..*\.(push)?url|branch\..*\.remote)$`)
	if err != nil {
		return nil, err
	}
	for key, address := range settings {
		name, ok := strings.CutPrefix(key, "remote.")
		if name, isURL := strings.CutSuffix(name, ".url"); ok && isURL {
			if pushed := settings["remote."+name+".pushurl"]; pushed != "" {
				address = pushed
			}
			if one, ok := ParseRemote(name, address); ok {
				list = append(list, one)
			}
		}
	}
	own := settings["branch."+branch+".remote"]
	slices.SortFunc(list, func(a, b Remote) int { return cmp.Or(rank(a.Name, own)-rank(b.Name, own), cmp.Compare(a.Name, b.Name)) })
	return list, nil
}

// rank is lower for the remote that a branch is pushed to.
func rank(name, own string) int {
	switch name {
	case own:
		return 0
	case "origin":
		return 1
	}
	return 2
}

// DefaultBranch returns the branch of a remote that it showed as its default when it was cloned, or "" if that is unknown.
func (r *Repository) DefaultBranch(ctx context.Context, remote string) string {
	prefix := "refs/remotes/" + remote + "/"
	target, err := r.run(ctx, nil, "symbolic-ref", "--quiet", prefix+"HEAD")
	if branch, ok := strings.CutPrefix(target, prefix); ok && err == nil {
		return branch
	}
	return ""
}
