package keyspace_test

import (
	"fmt"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/engine"
	"lockpick/internal/keyspace"
)

// A shadow of a real server executes again what the server says that it has done,
// and so knows what has become of its keys, when, and by whom.
func Example() {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	lines := []struct {
		at      time.Duration
		client  string
		command []string
	}{
		{1 * time.Millisecond, "client-1", []string{"SET", "lock", "2e3f9a1c77", "NX", "PX", "300"}},
		{2 * time.Millisecond, "client-2", []string{"SET", "lock", "5f01d2e8aa", "NX", "PX", "300"}},
		{400 * time.Millisecond, "client-2", []string{"SET", "lock", "5f01d2e8aa", "NX", "PX", "300"}},
		{450 * time.Millisecond, "client-1", []string{"EVAL", "return redis.call('del', KEYS[1])", "1", "lock"}},
	}

	e, err := engine.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	e.Advance(began)
	keys := keyspace.New(e, keyspace.NewLabels(), func(r history.Record) {
		fmt.Printf("%v %s %s=%s of %s, by %q\n", e.Now().Sub(began), r.Op, r.Key, r.Owner, r.Holder, r.Client)
	})
	advance := func(to time.Time) { // by way of the ends of keys, so that each expires at its time
		for end := keys.NextEnd(); !end.IsZero() && end.Before(to); end = keys.NextEnd() {
			e.Advance(end)
			keys.Expire()
		}
		e.Advance(to)
		keys.Expire()
	}
	sessions := map[string]*engine.Session{"client-1": engine.NewSession(), "client-2": engine.NewSession()}
	for _, l := range lines {
		advance(began.Add(l.at))
		e.Execute(sessions[l.client], l.command)
		keys.Compare(l.client)
	}
	// Output:
	// 1ms granted lock=client-1~1 of client-1, by "client-1"
	// 301ms expired lock=client-1~1 of client-1, by ""
	// 400ms granted lock=client-2~1 of client-2, by "client-2"
	// 450ms deleted lock=client-2~1 of client-2, by "client-1"
}
