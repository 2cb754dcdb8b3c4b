// The last reconciles of an object, as a table.
import { h } from './preact.js';
import { State, Table, When } from './parts.js';
import { attemptId, count, moment, seconds } from './words.js';

export function Attempts({ told }) {
  const groups = runs([...told.timeline].reverse());
  // A group keeps its key while it grows and its oldest reconciles are forgotten, so that what a person has opened stays open.
  const rows = groups.map(([each, ...same], at) => h('tr', { key: same.length ? `${each.detail} ${groups.length - at}` : each.started, class: 'new', id: attemptId(each) },
    h('td', { class: 'time' }, h(When, { at: each.at, now: told.now, beside: true })), h('td', null, h(State, { state: each.result.replace('requeue_after', 'waiting') })),
    h('td', { class: 'text' }, each.detail, !at && each.next && h('div', { class: 'soft' }, `next at ${moment(each.next)}`),
      same.length > 0 && h('details', { class: 'others' }, h('summary', null, `and ${count(same.length, 'time')} before, since `, h(When, { at: same.at(-1).at, now: told.now })),
        h('ul', null, same.map((one) => h('li', { key: one.started, id: attemptId(one) }, `${moment(one.at)}, because of ${one.causes.join(', ')}, took ${seconds(one.seconds)}`,
          isDoing(one) && h(Doings, { attempt: one })))))),
    h('td', null, each.causes.join(', ')),
    h('td', null, h(Doings, { attempt: each })),
    h('td', { class: 'number' }, seconds(each.seconds))));
  const heads = ['time', 'outcome', 'reason or error', 'because of', 'reads and writes', '#took'];
  return h(Table, { caption: 'Last reconciles, the newest first', cards: true, heads, rows, empty: 'none is remembered' });
}

// Reconciles in groups: failures with the same error, one after the other, whatever they have read and written before.
function runs(attempts) {
  const groups = [];
  for (const each of attempts) {
    const last = groups.at(-1);
    if (last && alike(last[0], each)) last.push(each); else groups.push([each]);
  }
  return groups;
}

const alike = (one, other) => one.result === 'error' && other.result === 'error' && one.detail === other.detail;

const isDoing = (attempt) => attempt.reads.length > 0 || attempt.writes.length > 0 || attempt.moreWrites > 0;

function Doings({ attempt }) {
  const reads = attempt.reads.map((each) =>
    `read ${count(each.objects, each.kind)}, ${each.cached ? `as of ${seconds(each.age)} before` : 'live'}`);
  const writes = attempt.writes.map((each) =>
    `${each.verb} ${each.kind} ${each.key}${each.effect || each.fields.length ? `: ${each.effect || each.fields.join(', ')}` : ''}`);
  if (attempt.moreWrites) writes.push(`${count(attempt.moreWrites, 'more write')}`);
  if (!isDoing(attempt)) return 'none';
  return h('details', null, h('summary', null, `${count(reads.length, 'read')}, ${count(writes.length, 'write')}`),
    h('ul', null, [...reads, ...writes].map((line) => h('li', null, line))));
}
