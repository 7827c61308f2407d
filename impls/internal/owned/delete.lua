-- KEYS[1] the lock, ARGV[1] the owner's value
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
else
    return 0
end
