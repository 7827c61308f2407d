-- KEYS[1] the lock, KEYS[2] its fence counter, ARGV[1] the owner's value, ARGV[2] the fence
if tonumber(redis.call('get', KEYS[2]) or 0) < tonumber(ARGV[2]) then
    redis.call('set', KEYS[2], ARGV[2])
end
if redis.call('get', KEYS[1]) == ARGV[1] then
    return 1
end
return 0
