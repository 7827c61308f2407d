-- KEYS[1] the lock, KEYS[2] the queue, KEYS[3] until when each waiter counts
-- ARGV[1] the waiter's value, ARGV[2] the lease in ms, ARGV[3] how long a waiter counts that is not heard of, in ms
if redis.call('get', KEYS[1]) == ARGV[1] then
    return 1 -- the script was sent twice
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

if not redis.call('zscore', KEYS[3], ARGV[1]) then
    redis.call('rpush', KEYS[2], ARGV[1])
end
redis.call('zadd', KEYS[3], now + ARGV[3], ARGV[1])

local function dead(waiter)
    local deadline = redis.call('zscore', KEYS[3], waiter)
    return not deadline or tonumber(deadline) <= now
end
local head = redis.call('lindex', KEYS[2], 0)
while head and dead(head) do
    redis.call('lpop', KEYS[2])
    redis.call('zrem', KEYS[3], head)
    head = redis.call('lindex', KEYS[2], 0)
end
if not head then -- the queue was evicted, and what says who is in it was not
    redis.call('rpush', KEYS[2], ARGV[1])
    head = ARGV[1]
end

if head == ARGV[1] and redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    redis.call('lrem', KEYS[2], 0, ARGV[1])
    redis.call('zrem', KEYS[3], ARGV[1])
    return 1
end
redis.call('pexpire', KEYS[2], ARGV[3])
redis.call('pexpire', KEYS[3], ARGV[3])
return 0
