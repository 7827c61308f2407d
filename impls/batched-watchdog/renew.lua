-- KEYS the locks, ARGV[1] the new time to live in ms, ARGV[i + 1] the owner's value of KEYS[i]
for i, key in ipairs(KEYS) do
    if redis.call('get', key) ~= ARGV[i + 1] then
        return redis.error_reply('NOTOURS ' .. key)
    end
end
for _, key in ipairs(KEYS) do
    redis.call('pexpire', key, ARGV[1])
end
return #KEYS
