package scenarios

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"
)

// Whether a field has to be there.
const (
	required = true
	optional = false
)

// textField is a required field that holds a text; at says where to put it.
func textField[T any](name string, at func(*T) *string) field[T] {
	return field[T]{name: name, required: required, read: func(r *reader, n *yaml.Node, into *T) {
		if v, ok := r.text(n, name); ok {
			*at(into) = v
		}
	}}
}

// durationField is a field that holds a duration.
func durationField[T any](name string, must bool, within span, at func(*T) *time.Duration) field[T] {
	return field[T]{name: name, required: must, read: func(r *reader, n *yaml.Node, into *T) {
		if v, ok := r.duration(n, name, within); ok {
			*at(into) = v
		}
	}}
}

// countField is a field that holds a whole number. One that cannot be read
// becomes 0, whatever it would be if it were not given.
func countField[T any](name string, must bool, low, high int64, at func(*T) *int) field[T] {
	return field[T]{name: name, required: must, read: func(r *reader, n *yaml.Node, into *T) {
		v, _ := r.integer(n, name, low, high)
		*at(into) = int(v)
	}}
}

// numberField is an optional field that holds a number above 0.
func numberField[T any](name string, at func(*T) *float64) field[T] {
	return field[T]{name: name, read: func(r *reader, n *yaml.Node, into *T) {
		if v, ok := r.number(n, name, aboveZero, fmt.Sprintf("a number above 0, up to %d", maxCount)); ok {
			*at(into) = v
		}
	}}
}

// choiceField is a field that holds one of a few words.
func choiceField[T any, W ~string](name string, must bool, words []W, at func(*T) *W) field[T] {
	return field[T]{name: name, required: must, read: func(r *reader, n *yaml.Node, into *T) {
		if v, ok := choice(r, n, name, words); ok {
			*at(into) = v
		}
	}}
}

// refusedField is a field that must not be there, though it looks as if it
// could; why is the whole message.
func refusedField[T any](name, why string) field[T] {
	return field[T]{name: name, refused: why}
}
