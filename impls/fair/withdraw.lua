-- KEYS[1] the lock, KEYS[2] the queue, KEYS[3] until when each waiter counts, ARGV[1] the waiter's value
redis.call('lrem', KEYS[2], 0, ARGV[1])
redis.call('zrem', KEYS[3], ARGV[1])
if redis.call('get', KEYS[1]) == ARGV[1] then
    redis.call('del', KEYS[1])
end
return 1
