-- For wrk: each request is from the next client. Arguments: the first one's number, and how many there
-- are until they begin anew.
local number, most

function init(arguments)
  number, most = tonumber(arguments[1]), tonumber(arguments[2])
end

function request()
  number = (number + 1) % most
  return string.format("GET %s HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.%d.%d.%d\r\n\r\n", wrk.path,
                       math.floor(number / 65536), math.floor(number / 256) % 256, number % 256)
end
