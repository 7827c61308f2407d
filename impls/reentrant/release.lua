-- KEYS[1] the lock, ARGV[1] the owner's field, ARGV[2] the lease in ms
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return -1
end
local depth = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if depth > 0 then
    redis.call('pexpire', KEYS[1], ARGV[2])
else
    redis.call('del', KEYS[1])
end
return depth
