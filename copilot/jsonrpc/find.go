package jsonrpc

import (
	"context"
	"maps"
	"slices"
)

// Finder finds the methods of a connection. Requests for other methods are refused, and notifications ignored.
type Finder interface {
	Find(name string) (m Method, known bool)
	Names() []string
}

// Find returns a method.
func (m Methods) Find(name string) (method Method, known bool) {
	method, known = m[name]
	return method, known
}

// Names returns the names of the methods, in no order.
func (m Methods) Names() []string { return slices.Collect(maps.Keys(m)) }

// Table maps names to methods that many connections have: it is made once, and a method learns its connection when it is called.
type Table[C any] map[string]struct {
	Handle  func(connection C, ctx context.Context, r *Request) (any, error) // a method expression; see [Method.Handle]
	InOrder bool                                                             // see [Method.InOrder]
}

// TypedOf is [Typed] for a [Table].
func TypedOf[C, P any](handle func(connection C, ctx context.Context, params P) (any, error)) func(C, context.Context, *Request) (any, error) {
	return func(connection C, ctx context.Context, r *Request) (any, error) {
		return Typed(func(ctx context.Context, params P) (any, error) { return handle(connection, ctx, params) })(ctx, r)
	}
}

// Of returns the methods of a connection.
func (t Table[C]) Of(connection C) Finder { return bound[C]{t, connection} }

type bound[C any] struct {
	table      Table[C]
	connection C
}

func (b bound[C]) Find(name string) (Method, bool) {
	m, known := b.table[name]
	return Method{InOrder: m.InOrder, Handle: func(ctx context.Context, r *Request) (any, error) { return m.Handle(b.connection, ctx, r) }}, known
}

func (b bound[C]) Names() []string { return slices.Collect(maps.Keys(b.table)) }

// Chain finds a method in the first of several places that has it.
type Chain []Finder

// Find returns a method.
func (c Chain) Find(name string) (method Method, known bool) {
	for _, f := range c {
		if method, known = f.Find(name); known {
			break
		}
	}
	return method, known
}

// Names returns the names of the methods, in no order. One that is in several places is repeated.
func (c Chain) Names() (names []string) {
	for _, f := range c {
		names = append(names, f.Names()...)
	}
	return names
}
