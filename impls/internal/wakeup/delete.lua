-- KEYS[1] the lock, ARGV[1] the owner's value, ARGV[2] the channel of the waiters
if redis.call('get', KEYS[1]) == ARGV[1] then
    redis.call('del', KEYS[1])
    redis.call('publish', ARGV[2], ARGV[1])
    return 1
else
    return 0
end
