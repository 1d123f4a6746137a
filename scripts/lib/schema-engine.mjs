import fs from 'node:fs';
import { createRequire } from 'node:module';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from '@prisma/driver-adapter-utils';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';

/**
 * Prisma's schema engine as WebAssembly: the command line tool would download a native one, which many networks refuse.
 * It is needed only to write migrations and to compare; applying them needs no engine (migrations.mjs).
 * @template T
 * @param {string} databaseUrl
 * @param {string} schema text of schema.prisma
 * @param {(engine: import('@prisma/schema-engine-wasm').SchemaEngine) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withSchemaEngine(databaseUrl, schema, work) {
  await loadEngine();
  // The engine never closes its connections; a pool of ours is closed by us.
  const pool = new pg.Pool({ connectionString: databaseUrl });
  const factory = bindMigrationAwareSqlAdapterFactory(new CorrectedAdapter(pool));
  const engine = await bindings.SchemaEngine.new({ datamodels: [['schema.prisma', schema]] }, () => {}, factory);
  try {
    return await work(engine);
  } finally {
    engine.free();
    await pool.end();
  }
}

const QUOTED_CHAR_OID = 18;
const TEXT_OID = 25;

/** The adapter with two corrections that the engine needs when it talks to a real server. */
class CorrectedAdapter extends PrismaPg {
  /** @override */
  async connect() {
    return correct(await super.connect());
  }
}

/**
 * @param {Awaited<ReturnType<PrismaPg['connect']>>} adapter
 */
function correct(adapter) {
  // The adapter splits a script at every ";", also inside a function body between $$: the server does it right.
  adapter.executeScript = async (script) => {
    await adapter.underlyingDriver().query(script);
  };
  // The catalogues' own one-byte type "char" (say attidentity) is unknown to the adapter and one character to the engine.
  const pool = adapter.underlyingDriver();
  /** @type {Set<number>} */
  let characterColumns = new Set();
  const query = pool.query.bind(pool);
  pool.query = /** @type {typeof pool.query} */ (
    async (/** @type {import('pg').QueryArrayConfig} */ config) => {
      const result = await query(config);
      characterColumns = new Set();
      for (const [index, field] of (result.fields ?? []).entries()) {
        if (field.dataTypeID !== QUOTED_CHAR_OID) continue;
        field.dataTypeID = TEXT_OID;
        characterColumns.add(index);
      }
      return result;
    }
  );
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = async (sql) => {
    const result = await queryRaw(sql);
    for (const index of characterColumns) {
      result.columnTypes[index] = ColumnTypeEnum.Character;
      for (const row of result.rows) if (row[index] === '') row[index] = '\0';
    }
    return result;
  };
  return adapter;
}

/** @type {Promise<void> | undefined} */
let loading;

function loadEngine() {
  loading ??= instantiate();
  return loading;
}

async function instantiate() {
  const file = createRequire(import.meta.url)
    .resolve('@prisma/schema-engine-wasm/schema_engine_bg')
    .replace(/\.js$/, '.wasm');
  const { instance } = await WebAssembly.instantiate(fs.readFileSync(file), {
    './schema_engine_bg.js': { ...bindings, ...patientTimers() },
  });
  bindings.__wbg_set_wasm(instance.exports);
  /** @type {() => void} */ (instance.exports['__wbindgen_start'])();
}

/**
 * The engine leaves the timer of its 10 s lock deadline behind, which would hold every program that long. Its names carry
 * a hash that changes with the version.
 */
function patientTimers() {
  const names = Object.keys(bindings).filter((name) => name.startsWith('__wbg_setTimeout_'));
  const start = (/** @type {() => void} */ callback, /** @type {number} */ ms) => setTimeout(callback, ms).unref();
  return Object.fromEntries(names.map((name) => [name, start]));
}
