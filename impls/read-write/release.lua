-- KEYS[1] the lock, a hash of owner and 'mode:deadline', ARGV[1] the owner
local hold = redis.call('hget', KEYS[1], ARGV[1])
if not hold then
    return 0
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('hdel', KEYS[1], ARGV[1])

local last = 0
for _, other in ipairs(redis.call('hvals', KEYS[1])) do
    last = math.max(last, tonumber(string.match(other, '%d+$')))
end
if last > 0 then
    redis.call('pexpireat', KEYS[1], last) -- as long as the longest hold that is left
end
if tonumber(string.match(hold, '%d+$')) <= now then
    return 0 -- it had run out, and others kept the key
end
return 1
