-- KEYS[1] the lock, ARGV[1] the owner's value, ARGV[2] the new time to live in ms
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0
