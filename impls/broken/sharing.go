package broken

import (
	"context"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

// Flaws of a lock with a shared mode.
const (
	WriterAmongReaders Flaw = "writer-among-readers" // readers do not keep a writer out
	ReaderBesideWriter Flaw = "reader-beside-writer" // a writer does not keep readers out
	LastReaderOut      Flaw = "last-reader-out"      // the release of one reader ends it for all
)

// Each holder is a field of the hash, with its mode and its own end.
var (
	shareScript = redis.NewScript(`
		local time = redis.call("time")
		local now = time[1] * 1000 + math.floor(time[2] / 1000)
		local last = now + ARGV[3]
		local all = redis.call("hgetall", KEYS[1])
		for i = 1, #all, 2 do
			local mode, ends = string.match(all[i + 1], "^(%a+):(%d+)$")
			if tonumber(ends) > now then
				if ARGV[4] ~= mode .. ARGV[2] and (mode == "write" or ARGV[2] == "write") then return 0 end
				last = math.max(last, tonumber(ends))
			end
		end
		redis.call("hset", KEYS[1], ARGV[1], ARGV[2] .. ":" .. string.format("%.0f", now + ARGV[3]))
		redis.call("pexpireat", KEYS[1], last)
		return 1`)
	unshareScript = redis.NewScript(`
		local hold = redis.call("hget", KEYS[1], ARGV[1])
		if not hold then return 0 end
		local time = redis.call("time")
		if ARGV[2] == "all" then redis.call("del", KEYS[1]) else redis.call("hdel", KEYS[1], ARGV[1]) end
		if tonumber(string.match(hold, "%d+$")) <= time[1] * 1000 + math.floor(time[2] / 1000) then return 0 end
		return 1`)
)

// Shared returns a lock on one node for many readers or one writer, with a flaw.
func Shared(f Flaw) impls.Version {
	v := version(f, "shared", func(e impls.Env, c impls.Config) (impls.Lock, error) {
		return &shared{single{env: e, cfg: c, flaw: f}}, nil
	})
	v.Traits.Shared = true
	return v
}

type shared struct{ single }

func (l *shared) Acquire(ctx context.Context) (impls.Lease, error) { return l.acquire(ctx, "write") }

// AcquireShared implements impls.SharedLocker.
func (l *shared) AcquireShared(ctx context.Context) (impls.Lease, error) {
	return l.acquire(ctx, "read")
}

func (l *shared) acquire(ctx context.Context, mode string) (impls.Lease, error) {
	overlooks := "" // whom there may be, and who comes
	switch l.flaw {
	case WriterAmongReaders:
		overlooks = "readwrite"
	case ReaderBesideWriter:
		overlooks = "writeread"
	default: // this one behaves here
	}
	token := l.token()
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		n, err := shareScript.Run(ctx, l.env.Redis(), []string{l.cfg.Key}, token, mode, l.cfg.TTL.Milliseconds(), overlooks).Int()
		return n == 1, err
	})
	if err != nil {
		return impls.Lease{}, err
	}
	return impls.Lease{Owner: token}, nil
}

func (l *shared) Release(ctx context.Context, given impls.Lease) error {
	whose := "own"
	if l.flaw == LastReaderOut {
		whose = "all"
	}
	return released(unshareScript.Run(ctx, l.env.Redis(), []string{l.cfg.Key}, given.Owner, whose).Int())
}
