package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"strings"
)

// Cluster connects a store with those of other machines, through a log that orders the changes of all. Its methods may be
// called concurrently.
type Cluster interface {
	// Written reports subjects with changes that the log lacks. It must not wait.
	Written(subjects ...string)

	// Claim appends a change unless the log has one about its subject that is not applied here ([ErrChanged]). It returns the
	// sequence of the change. Any other error means that it may be in the log.
	Claim(ctx context.Context, c Change) (sequence uint64, err error)

	// Await returns nil when the log has a version of a subject, or another node has changed it. It fails when the others may take this node
	// for gone, because the log cannot be reached, and when the version was lost with its file.
	Await(ctx context.Context, subject string, version uint64) error

	// CatchUp returns nil when everything that the log has by now is applied here. It fails if that takes long, because the log cannot be
	// reached or this node is far behind, and at once when the others may take this node for gone.
	CatchUp(ctx context.Context) error

	// IsMember reports whether a process, by its [Store.Name], works in the cluster.
	IsMember(process string) bool
}

// ErrChanged reports that another node has changed a session or activity in the meantime.
var ErrChanged = errors.New("another node has just changed it: try again")

// clusterHost is what the hosts of owners on other nodes begin with.
const clusterHost = "cluster/"

// Subjects of the log.
const (
	sessionKind  = "session"
	visitorKind  = "visitor"
	shareKind    = "share"
	positionKind = "position"
)

func subject(kind, id string) string { return kind + "/" + id }

// SessionSubject returns the subject of a session.
func SessionSubject(id string) string { return subject(sessionKind, id) }

func positionSubject(session, name string) string { return subject(positionKind, session+"/"+name) }

// SplitSubject returns the kind and the id of a subject.
func SplitSubject(s string) (kind, id string) {
	kind, id, _ = strings.Cut(s, "/")
	return kind, id
}

// IsRow reports whether a subject is a visitor, share or position: any node may change it, and the newest change counts.
func IsRow(subject string) bool {
	kind, _ := SplitSubject(subject)
	return kind == visitorKind || kind == shareKind || kind == positionKind
}

// SessionOf returns the subject of the session that a position belongs to; "" for other subjects.
func SessionOf(subject string) string {
	kind, id := SplitSubject(subject)
	if kind != positionKind {
		return ""
	}
	session, _, _ := strings.Cut(id, "/")
	return SessionSubject(session)
}

// ObjectName returns the name of an object, beside the log, that belongs to a subject and has a name of its own. [SplitObject] is the inverse.
func ObjectName(subject, name string) string { return path.Join(subject, name) }

// SplitObject returns the subject of an object, and its own name. Objects of the first version have no subject.
func SplitObject(object string) (subject, name string) { return path.Dir(object), path.Base(object) }

// isElsewhere reports whether an owner belongs to another node.
func (o owner) isElsewhere() bool { return strings.HasPrefix(o.host, clusterHost) }

// change counts a change of a subject, within a transaction, and returns its version. Without a cluster it does nothing.
func (w *writer) change(ctx context.Context, subject string) (version uint64, err error) {
	if w.options.Cluster == nil {
		return 0, nil
	}
	err = w.db.row(ctx, `INSERT INTO shared (subject, sequence, number, version, shipped) VALUES (?1, 0, 0, ?2, 0)
		ON CONFLICT (subject) DO UPDATE SET version = max(version + 1, ?2) RETURNING version`, []any{subject, w.firstVersion}, &version)
	w.changed = append(w.changed, subject)
	return version, err
}

// changeRow changes what is shared as a whole, in a transaction. In a cluster it returns when the log has it, so that clients may go
// to any node with what they get. Nothing is shared unless do changes a row: what this store does not know, another node may have.
func (s *Store) changeRow(ctx context.Context, subject string, do func(context.Context, *writer) (rows int64, err error)) error {
	awaitLog, err := s.writeRow(ctx, subject, do)
	if err == nil {
		_ = awaitLog() // the log gets it once it can be reached
	}
	return err
}

// writeRow is changeRow, but leaves waiting for the log to the caller.
func (s *Store) writeRow(ctx context.Context, subject string, do func(context.Context, *writer) (rows int64, err error)) (awaitLog func() error, err error) {
	var version uint64
	err = s.do(ctx, func(ctx context.Context, w *writer) error {
		return w.db.transaction(ctx, func() error {
			version = 0
			rows, err := do(ctx, w)
			if err == nil && rows > 0 {
				version, err = w.change(ctx, subject)
			}
			return err
		})
	})
	return func() error {
		if version == 0 {
			return nil
		}
		return s.options.Cluster.Await(ctx, subject, version)
	}, err
}

// reportChanges tells the cluster about committed changes. A change that was rolled back is not found, which does no harm.
func (w *writer) reportChanges() {
	if len(w.changed) > 0 {
		w.options.Cluster.Written(w.changed...)
		w.changed = w.changed[:0]
	}
}

// Join makes the store a part of a cluster: everything that it has becomes a change that the log lacks, unless it was a part
// before. It returns the newest sequence of the log that is applied. It fails if the store belongs to another cluster, was that of
// another node, or is used by a process that is not a node; the proof that it is gone may take five heartbeats.
func (s *Store) Join(ctx context.Context, name, node string) (applied uint64, err error) {
	err = s.untilProven(ctx, func() (err error) {
		applied, err = s.joinOnce(ctx, name, node)
		return err
	})
	if held, inUse := errors.AsType[*InUseError](err); inUse {
		err = fmt.Errorf("process %d works with the data directory and without the cluster: stop it first", held.PID)
	}
	return applied, err
}

func (s *Store) joinOnce(ctx context.Context, name, node string) (applied uint64, err error) {
	return ask(ctx, s, func(ctx context.Context, w *writer) (applied uint64, err error) {
		err = w.db.transaction(ctx, func() (err error) {
			applied, err = w.join(ctx, name, node)
			return err
		})
		if err == nil {
			w.node, w.applied = node, applied
		}
		return applied, err
	})
}

func (w *writer) join(ctx context.Context, name, node string) (applied uint64, err error) {
	var cluster, before string
	err = w.db.row(ctx, "SELECT name, node, applied FROM cluster", nil, &cluster, &before, &applied)
	switch {
	case err == nil && cluster != name:
		return 0, fmt.Errorf("the data directory belongs to the cluster %q, not %q", cluster, name)
	case err == nil && before != node:
		return 0, fmt.Errorf("the data directory belongs to the node %q, not %q", before, node)
	case err == nil || !errors.Is(err, sql.ErrNoRows):
		return applied, err
	}
	if err := w.checkAlone(ctx); err != nil {
		return 0, err
	}
	for _, query := range []string{
		"INSERT OR IGNORE INTO shared SELECT 'session/' || id, 0, 0, ?, 0 FROM session",
		"INSERT OR IGNORE INTO shared SELECT kind || '/' || id, 0, 0, ?, 0 FROM activity",
		"INSERT OR IGNORE INTO shared SELECT 'visitor/' || lower(hex(hash)), 0, 0, ?, 0 FROM visitor",
		"INSERT OR IGNORE INTO shared SELECT 'share/' || id, 0, 0, ?, 0 FROM share",
		"INSERT OR IGNORE INTO shared SELECT 'position/' || id || '/' || name, 0, 0, ?, 0 FROM position JOIN session ON key = session",
	} {
		if _, err := w.db.exec(ctx, query, w.firstVersion); err != nil {
			return 0, err
		}
	}
	_, err = w.db.exec(ctx, "INSERT INTO cluster (name, node, applied) VALUES (?, ?, 0)", name, node)
	return 0, err
}

// Applied returns the newest sequence of the log that is applied; 0: nothing is, or the file was replaced and has not joined again.
func (s *Store) Applied(ctx context.Context) (applied uint64, err error) {
	applied, err = one(ctx, s, column[uint64], "SELECT applied FROM cluster")
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return applied, err
}

// isBehind reports whether the file lacks what this process has found in another one: it was replaced, and has to be filled from the log.
func (w *writer) isBehind(ctx context.Context) (bool, error) {
	if w.options.Cluster == nil {
		return false, nil
	}
	var applied uint64
	err := w.db.row(ctx, "SELECT applied FROM cluster", nil, &applied)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return applied < w.applied, err
}

// checkAlone fails with an [*InUseError] if another process, which is not a node, holds sessions or activities of the file.
func (w *writer) checkAlone(ctx context.Context) error {
	owners, err := w.owners(ctx)
	return cmp.Or(err, w.checkGone(owners))
}

// changeHeld counts a change of everything that this process holds, within a transaction.
func (w *writer) changeHeld(ctx context.Context) error {
	if w.options.Cluster == nil {
		return nil
	}
	held, err := collect(ctx, w.db, column[string], `SELECT 'session/' || id FROM session WHERE owner = ?1
		UNION ALL SELECT kind || '/' || id FROM activity WHERE owner = ?1`, w.self.key)
	for i := 0; i < len(held) && err == nil; i++ {
		_, err = w.change(ctx, held[i])
	}
	w.changed = nil // the node is gone already; its next process tells the log
	return err
}

// Unshared returns the subjects with changes that the log lacks.
func (s *Store) Unshared(ctx context.Context) ([]string, error) {
	return many(ctx, s, column[string], "SELECT subject FROM shared WHERE version > shipped")
}

// checkCluster fails if the file belongs to a node of a cluster and this process works without one: it would change sessions that another
// node holds.
func (w *writer) checkCluster(ctx context.Context) error {
	if w.options.Cluster != nil {
		return nil
	}
	var name, node string
	err := w.db.row(ctx, "SELECT name, node FROM cluster", nil, &name, &node)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err == nil:
		return w.options.describe(Clustered, fmt.Errorf("node %q of the cluster %q", node, name))
	}
	return w.options.failure(err)
}

// Leave ends the part of a file in its cluster, and keeps everything that it has. It returns the cluster's name; "": it had no part in one. No
// process may work with the file as a node.
func Leave(ctx context.Context, o Options) (name string, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return "", err
	}
	w := &writer{Store: &Store{options: o}}
	if err := w.open(ctx, false); err != nil {
		return "", err
	}
	defer w.read.Load().Close() //nolint:errcheck // nothing is read
	defer w.closeFile()
	err = w.db.transaction(ctx, func() error {
		err := w.db.row(ctx, "DELETE FROM cluster RETURNING name", nil, &name)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			_, err = w.db.exec(ctx, "DELETE FROM shared")
		}
		return err
	})
	return name, o.failure(err)
}

// caughtUp calls find again, after the store has caught up with the log, if it did not find anything. It fails with [ErrNotFound] only if
// other nodes do not have it either.
func caughtUp[T any](ctx context.Context, s *Store, find func() (T, error)) (T, error) {
	found, err := find()
	if s.options.Cluster == nil || !errors.Is(err, ErrNotFound) {
		return found, err
	}
	behind := s.options.Cluster.CatchUp(ctx)
	if found, err = find(); behind != nil && errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("this node of the cluster may lack what others have: %w", behind)
	}
	return found, err
}
