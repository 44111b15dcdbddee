-- Requests each line of the file WRK_REQUESTS in turn, if it is set: a path, then a bearer token if there is one.
local file = os.getenv("WRK_REQUESTS")
if file then
  local requests, sent = {}, 0

  function init()
    for line in io.lines(file) do
      local path, token = line:match("^(%S+) ?(%S*)$")
      local headers = { Host = wrk.headers["Host"] }
      if token ~= "" then headers["Authorization"] = "Bearer " .. token end
      requests[#requests + 1] = wrk.format("GET", path, headers)
    end
  end

  function request()
    sent = sent % #requests + 1
    return requests[sent]
  end
end

-- Ends the run after so many responses, if WRK_MAX_RESPONSES is set: wrk itself runs for whole seconds.
local most = tonumber(os.getenv("WRK_MAX_RESPONSES"))
if most then
  local received = 0

  function response()
    received = received + 1
    if received == most then wrk.thread:stop() end
  end
end

-- Reports a run as one line of JSON; latencies in microseconds.
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '\nJSON {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"errors":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout
  ))
end
