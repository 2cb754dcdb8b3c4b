// Words and numbers as people read them. Functions of their arguments alone.

export const MEANING = {
  stopped: 'the controller has ended',
  failed: 'a terminal error: nothing happens until something changes',
  'backing off': 'the last reconcile failed; it is tried again later',
  'slowed down': 'it is in a hot loop, so its reconciles are delayed',
  'running long': 'a worker has been reconciling it for a minute or longer',
  'not synced': 'a cache is not complete yet',
  'being deleted': 'it waits until other programs remove their finalizers',
  warned: 'the last reconcile ended without an error, and its last event was a warning',
  'not ready': 'no work is due now, and its status says that it is not as wanted',
  paused: 'a user has paused the object or its controller',
  running: 'a worker is reconciling it',
  queued: 'it waits for a worker',
  waiting: 'the last reconcile asked to be called again later',
  filtered: 'a predicate filtered out the last change',
  standby: 'another process leads',
  'not in this shard': 'it belongs to another process',
  unknown: 'there is no such object in the cache',
  deleted: 'the object is gone',
  idle: 'this controller has nothing to do',
};
// What the states of objects in an embedded cluster mean.
export const STANDING = {
  failed: 'it, or an object that it waits for, does not recover by itself',
  stuck: 'it differs from its spec, and a warning gives the reason, or nothing has changed for ten minutes',
  'being deleted': 'its deletion was requested, and waits for finalizers or for objects that it owns',
  'in progress': 'its actual state is not yet its desired state',
  warned: 'its status shows no problem, and the last event about it is a warning',
  paused: 'its spec pauses it',
  current: 'its status shows its desired state',
};
export const STATES = Object.keys(MEANING);

// Which states are trouble, which are work under way.
export function tone(state) {
  if (['stopped', 'failed', 'backing off', 'slowed down', 'error'].includes(state)) return 'bad';
  if (['running long', 'not synced', 'being deleted', 'filtered', 'requeue', 'unknown', 'stuck', 'paused', 'warned', 'not ready', 'Warning'].includes(state)) return 'odd';
  if (['idle', 'deleted', 'success', 'current'].includes(state)) return 'good';
  return 'busy';
}

export function seconds(value) {
  if (value === null || value === undefined) return '';
  if (value < 1) return `${(value * 1000).toFixed(value < 0.01 ? 1 : 0)} ms`;
  if (value < 120) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  const minutes = Math.round(value / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// A moment with its date and zone, as the reader's browser has it: "2026-11-23 01:04:18 UTC".
export function moment(text) {
  if (!text) return '';
  const at = new Date(text);
  const two = (number) => String(number).padStart(2, '0');
  const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts(at).find((each) => each.type === 'timeZoneName');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} ${zone.value}`;
}

export const clock = (text) => (text ? new Date(text).toLocaleTimeString([], { hour12: false }) : '');

// "in 12 s", "3 min ago", by the server's clock.
export function relative(text, now) {
  if (!text) return '';
  const left = (new Date(text) - new Date(now)) / 1000;
  return left >= 0 ? `in ${seconds(left)}` : `${seconds(-left)} ago`;
}

// The ids of the rows that tell more about an attempt and an event.
export const attemptId = (attempt) => `attempt-${attempt.started}`;
export const eventId = (event) => `event-${encodeURIComponent(event.at + event.reason)}`;

export const count = (number, noun) => `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;

// Reconciles and errors a second between two answers about one controller.
export function rates(before, now, elapsed) {
  if (!before || elapsed <= 0) return null;
  const total = (one) => Object.values(one.results).reduce((sum, each) => sum + each, 0);
  const per = (from, to) => Math.max(to - from, 0) / elapsed;
  return { all: per(total(before), total(now)), errors: per(before.results.error || 0, now.results.error || 0) };
}

export const rate = (value) => (value === 0 ? '0/s' : value < 10 ? `${value.toFixed(1)}/s` : `${Math.round(value)}/s`);
