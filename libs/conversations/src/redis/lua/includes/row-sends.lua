--- Counts the sends of rows. A send counts as pending ('p'), failed ('f') or not at all ('').
--- @include "rows.lua"

-- Adds a new send to the row of its recipient (see `row_of_number`).
local function add_send_to_row(number, send_id, accepted_at, preview)
  local sends = load_sends(number)
  sends.p = sends.p + 1
  sends.s = sends.s or {}
  local at, i = tonumber(accepted_at), 1
  while sends.s[i] and is_earlier({at, send_id}, sends.s[i]) do i = i + 1 end
  table.insert(sends.s, i, {at, send_id, preview})
  sends.s[MAX_SENDS_WITH_PREVIEW + 1] = nil
  local id = save_sends(number, sends)
  if redis.call('ZADD', row_order, 'GT', 'CH', at, id) == 1 and id == number then
    change_number_words('ZADD', number, number)
  end
end

-- Changes how a send is counted. `is_over` is true if the send is no longer shown.
local function recount_send(number, send_id, before, after, is_over)
  local sends = load_sends(number)
  -- A send may not have been counted, because an earlier build accepted it, or because rows were off at that time.
  if before ~= '' and sends[before] > 0 then sends[before] = sends[before] - 1 end
  if after ~= '' then sends[after] = sends[after] + 1 end
  local was_shown = is_over and remove_preview(sends, send_id)
  -- Most sends that retention removes are neither counted nor shown: their rows stay as they are.
  if before == after and not was_shown then return end
  local id = save_sends(number, sends)
  if not was_shown or not redis.call('ZSCORE', row_order, id) then return end
  local last = 0
  if id ~= number or is_contact(id) then last = last_activity(id, load_row(id) or {})
  elseif sends.s then last = sends.s[1][1] end
  redis.call('ZADD', row_order, 'XX', last, id)
end
