-- KEYS[1] the lock, KEYS[2] its fence counter, ARGV[1] the owner's value, ARGV[2] the time to live in ms
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return redis.call('incr', KEYS[2])
end
return 0
