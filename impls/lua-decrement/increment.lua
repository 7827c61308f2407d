local stock = tonumber(redis.call('get', KEYS[1]))
if stock < 0 then
    return -1
end
redis.call('incr', KEYS[1])
return stock + 1
