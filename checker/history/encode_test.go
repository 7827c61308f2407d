package history

import (
	"encoding/json"
	"testing"
	"time"
)

func FuzzAppendRecord(f *testing.F) {
	f.Add("client-1", "acquire", "a\"b", "<&>", "\x00ü\xff", int64(5), int64(-1), uint64(7), true)
	f.Add("", "", "", "", "", int64(0), int64(0), uint64(0), false)
	f.Fuzz(func(t *testing.T, who, op, key, word, text string, at, ttl int64, fence uint64, value bool) {
		r := Record{
			T: time.Duration(at), Who: who, Kind: Kind(op), Op: op, ID: int(at), Round: int(ttl), Key: key, Owner: word,
			Fence: fence, Until: time.Duration(ttl), TTL: time.Duration(ttl), Was: text, Client: who, Holder: key,
			Reply: text, Sent: time.Duration(at), Target: word, For: time.Duration(at), Error: text, Text: word,
			Panicked: value, Answered: !value,
		}
		if value {
			r.Value, r.Command = &at, []string{op, word, text}
		}
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendRecord(nil, &r); string(got) != string(want)+"\n" {
			t.Errorf("by hand\n%s\nby encoding/json\n%s", got, want)
		}
	})
}

func BenchmarkAppendRecord(b *testing.B) {
	r := Record{
		T: 1234567890, Who: "redis-1", Kind: Observe, Op: Command, Client: "client-1",
		Command: []string{"SET", "order:123", "client-1#1", "ex", "30", "nx"}, Reply: "OK", Sent: 1234000000,
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = appendRecord(buf[:0], &r)
	}
}
