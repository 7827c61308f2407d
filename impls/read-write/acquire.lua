-- KEYS[1] the lock, a hash of owner and 'mode:deadline'
-- ARGV[1] the owner, ARGV[2] 'read' or 'write', ARGV[3] the lease in ms
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local deadline = now + ARGV[3]

local last = deadline
local over = {}
local holds = redis.call('hgetall', KEYS[1])
for i = 1, #holds, 2 do
    local mode, ends = string.match(holds[i + 1], '^(%a+):(%d+)$')
    ends = tonumber(ends)
    if ends <= now then
        over[#over + 1] = holds[i]
    elseif holds[i] == ARGV[1] then
        return 1 -- the script was sent twice
    elseif mode == 'write' or ARGV[2] == 'write' then
        return 0
    else
        last = math.max(last, ends)
    end
end

redis.call('hset', KEYS[1], ARGV[1], ARGV[2] .. ':' .. string.format('%.0f', deadline))
for _, owner in ipairs(over) do
    redis.call('hdel', KEYS[1], owner)
end
redis.call('pexpireat', KEYS[1], last)
return 1
