// The parts that several views have in common: tables, states, trees.
import { h } from './preact.js';
import { eventId, moment, relative, tone } from './words.js';

export const State = ({ state }) => h('span', { class: `state ${tone(state)}` }, state);

// A sentence whose names of objects and kinds are links.
export const Said = ({ parts, stored }) => parts.map((each, at) => (each.resource
  ? h('a', { key: at, href: stored(each.resource, each.key) }, each.text) : each.text));

// How long ago something was, or when it will be; the whole date with its zone is beside it, or at a pointer on it.
export const When = ({ at, now, beside = false }) => (at ? [h('time', { dateTime: at, title: moment(at) }, relative(at, now)),
  beside && h('div', { class: 'soft moment' }, moment(at))] : null);

// A table whose rows are cards in a narrow window has `cards`.
export function Table({ caption, heads, rows, empty, cards = false }) {
  if (!rows.length) return h('p', { class: 'soft' }, empty);
  return h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': caption },
    h('table', { class: cards ? 'cards' : '' }, h('caption', null, caption),
      h('thead', null, h('tr', null, heads.map((head) =>
        h('th', { scope: 'col', class: head.startsWith('#') ? 'number' : '' }, head.replace('#', ''))))),
      h('tbody', null, rows)));
}

export const Conditions = ({ conditions, now }) => h(Table, {
  caption: 'Conditions', heads: ['type', 'status', 'reason', 'message', 'since'], empty: 'the object has none',
  rows: conditions.map((each) => h('tr', { key: each.type }, h('th', { scope: 'row' }, each.type),
    h('td', null, each.status), h('td', null, each.reason), h('td', { class: 'text' }, each.message),
    h('td', null, h(When, { at: each.since, now })))),
});

export const Events = ({ events, now, caption, empty }) => h(Table, {
  caption, heads: ['last time', 'type', 'reason', 'note', '#times'], empty, cards: true,
  rows: events.map((each) => h('tr', { key: each.at + each.reason + each.note, id: eventId(each) }, h('td', { class: 'time' }, h(When, { at: each.at, now, beside: true })),
    h('td', null, each.type === 'Normal' ? each.type : h(State, { state: each.type })), h('td', null, each.reason), h('td', { class: 'text' }, each.note),
    h('td', { class: 'number', 'data-head': 'times' }, each.count))),
});

// Objects, with those that they own. The function `line` makes the words of one of them.
export const Tree = ({ owned, line, top = true }) => h('ul', { class: top ? 'tree' : '' }, owned.map((each) =>
  h('li', { key: `${each.kind} ${each.key}` }, line(each), each.owns.length > 0 && h(Tree, { owned: each.owns, line, top: false }))));

// An object as YAML, below the heading `yaml`.
export const Yaml = ({ told }) => [h('p', { class: 'soft' }, told.hidden),
  told.yaml && h('pre', { tabIndex: 0, role: 'region', 'aria-labelledby': 'yaml' }, h('code', null, told.yaml))];
