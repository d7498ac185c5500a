package event

import "reflect"

// Bodies returns one body of each type.
func Bodies() (bodies []Body) {
	for _, k := range kinds {
		bodies = append(bodies, reflect.Zero(k.body).Interface().(Body))
	}
	return bodies
}
