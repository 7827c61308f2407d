package quorum

import (
	"errors"
	"fmt"

	"lockpick/impls"
)

// Majority is the number of nodes that any two majorities of n share at least one
// of: of all that are configured, not of those that can be reached
// (SPSCommerce/redlock-py#6), and in whole numbers (ronnylt/redlock-php#16).
func Majority(n int) int { return n/2 + 1 }

// Yes is the number of nodes that said yes.
func Yes(answers []Answer[bool]) int {
	yes := 0
	for _, a := range answers {
		if a.Err == nil && a.Value {
			yes++
		}
	}
	return yes
}

// Silence returns how many nodes said nothing that can be relied on, and the
// error of the first of them.
func Silence[T any](answers []Answer[T]) (int, error) {
	silent := 0
	var first error
	for _, a := range answers {
		if a.Err == nil {
			continue
		}
		if silent++; first == nil {
			first = a.Err
		}
	}
	return silent, first
}

// Held judges the answers to a question that the nodes say yes to while they
// hold the caller's value. It is nil when a majority said yes, ErrNotHeld when no
// majority can have held it, and another error when those that were silent could
// have decided it.
func Held(answers []Answer[bool]) error {
	n, yes := len(answers), Yes(answers)
	silent, why := Silence(answers)
	switch {
	case yes >= Majority(n):
		return nil
	case yes+silent < Majority(n):
		return fmt.Errorf("%w: %d of %d nodes had it", impls.ErrNotHeld, yes, n)
	default:
		return fmt.Errorf("%d of %d nodes had it, %d did not answer: %w", yes, n, silent, why)
	}
}

// NotGranted is the error of a try that failed, from what the nodes said to it
// and to the delete that was to undo it. It is ErrNotAcquired, unless so many
// nodes may hold the value, now or when the request still reaches them, that it
// may be a grant.
func NotGranted(votes, deleted []Answer[bool]) error {
	n, left := len(votes), 0
	for i, v := range votes {
		refused := v.Err == nil && !v.Value || errors.Is(v.Err, ErrNotAsked)
		// A value that was not there proves nothing while the request may still be under way.
		removed := deleted[i].Err == nil && (deleted[i].Value || v.Err == nil)
		if !refused && !removed {
			left++
		}
	}
	if left < Majority(n) {
		return fmt.Errorf("%w: granted by %d of %d nodes", impls.ErrNotAcquired, Yes(votes), n)
	}
	_, why := Silence(votes)
	if why == nil {
		_, why = Silence(deleted)
	}
	return fmt.Errorf("%d of %d nodes may hold it: %w", left, n, why)
}
