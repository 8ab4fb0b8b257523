-- Prints what the run saw as one line of JSON. Arguments: the mean pause of a connection between two requests, ms; a body to POST.
function init(args)
  local pause = tonumber(args[1])
  if args[2] then
    wrk.method = 'POST'
    wrk.body = args[2]
  end
  if pause > 0 then
    math.randomseed(os.time())
    function delay()
      return math.random(0, 2 * pause)
    end
  end
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '\nresult {"requests":%d,"seconds":%.6f,"failed":%d,"p50":%.3f,"p99":%.3f}\n',
    summary.requests, summary.duration / 1e6, failed, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3
  ))
end
