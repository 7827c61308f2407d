if not tonumber(redis.call('get', KEYS[1])) then
    return -2
end
