#!/usr/bin/env bash
# Answers every text that arrives, once. Settings: TIDINGS_URL, TIDINGS_API_KEY. Needs curl and jq.
# Follows the event stream, so it needs no address of its own. The position that it has reached is kept in a file.
set -euo pipefail
url=${TIDINGS_URL:-http://127.0.0.1:3000} cursor_file=${CURSOR_FILE:-cursor}
reply=$(mktemp) head=$(mktemp)
trap 'rm -f "$reply" "$head"' EXIT

# Prints the reply. Fails if a later repetition may succeed; prints nothing if the gateway rejects the request for good.
call() {
  local status
  status=$(curl -sS --max-time 10 -o "$reply" -w '%{http_code}' \
    -H "X-API-Key: $TIDINGS_API_KEY" -H 'Content-Type: application/json' "$@") || return
  case $status in
    2??) cat "$reply" ;;
    401 | 403 | 409 | 429 | 5??) return 1 ;;
    *) echo "rejected with status $status: $(cat "$reply")" >&2 ;;
  esac
}

answer() {
  local event=$1 contact phone_number
  [[ -n $(jq -r '.data.message.message // empty' <<<"$event") ]] || return 0
  contact=$(jq -r '.contactId | @uri' <<<"$event") || return
  phone_number=$(call "$url/v1/contacts/$contact" | jq -r '.phoneNumber // empty') || return
  [[ -n $phone_number ]] || return 0
  # After an interruption the same event may come again: its id keeps the answer from being sent twice.
  jq -c --arg to "$phone_number" '{phoneNumber: $to, message: ("You wrote: " + .data.message.message)}' <<<"$event" |
    call -X POST "$url/v1/messages/send" -H "Idempotency-Key: $(jq -r .id <<<"$event")" -d @- >/dev/null
}

echo 'Listening on the event stream.'
while :; do
  after=$(cat "$cursor_file" 2>/dev/null || echo now) id=
  while IFS= read -r line; do
    case $line in
      id:*) id=${line#id:} ;;
      # After a failure, the stream is opened again at the event that was not answered.
      data:*) answer "${line#data:}" || break ;;
      # The end of an event, or of a position: the stream begins with one, and sends others instead of events of other
      # types. Without them, the file would have an expired cursor after a long time without a text.
      '') [[ -z $id ]] || echo "${id# }" >"$cursor_file" ;;
    esac
  done < <(curl -fsSN -D "$head" -H "X-API-Key: $TIDINGS_API_KEY" "$url/v1/events/stream?types=message.received&after=$after")
  if grep -q '^HTTP/[0-9.]* 410' "$head"; then
    echo "The gateway no longer has the events after the cursor. To go on with new events, delete $cursor_file." >&2
    exit 1
  fi
  sleep 1
done
