package spec

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The kinds of operations, and the Type of fields.
const (
	Query        = "query"
	Mutation     = "mutation"
	Subscription = "subscription"
)

// Operation is something that an API can do: an endpoint, or a query, mutation or subscription.
type Operation struct {
	// ID is "GET /pets/{id}" or "query pets": the same whenever the same description is read, and unique in it.
	ID string
	// Title is what people call it: the summary if there is one.
	Title string
	// Endpoint or Field is there.
	Endpoint *Endpoint
	Field    *Field
}

// Operations goes through all operations in the order of the description.
func (s *Spec) Operations() iter.Seq[Operation] {
	return func(yield func(Operation) bool) {
		seen := map[string]int{}
		unique := func(id string) string {
			if seen[id]++; seen[id] > 1 {
				return id + " #" + strconv.Itoa(seen[id])
			}
			return id
		}
		for _, e := range s.Endpoints {
			id := strings.ToUpper(e.Method) + " " + e.Path
			title := cmp.Or(strings.TrimSpace(e.Summary), e.OperationID, id)
			if !yield(Operation{ID: unique(id), Title: title, Endpoint: e}) {
				return
			}
		}
		for kind, fields := range s.fields() {
			for _, f := range fields {
				if !yield(Operation{ID: unique(kind + " " + f.Name), Title: f.Name, Field: f}) {
					return
				}
			}
		}
	}
}

// fields are those of the three kinds.
func (s *Spec) fields() iter.Seq2[string, []*Field] {
	return func(yield func(string, []*Field) bool) {
		_ = yield(Query, s.Queries) && yield(Mutation, s.Mutations) && yield(Subscription, s.Subscriptions)
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
