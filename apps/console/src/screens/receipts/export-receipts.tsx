import { useEffect, useRef, useState, type ReactElement } from 'react';
import { send } from '../../api/call.js';
import { formatCount } from '../../format/money.js';
import { tashkentDay } from '../../format/time.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { Menu } from '../../ui/menu.js';
import { ProblemNote } from '../../ui/states.js';
import { saveBlob } from '../../ui/save-blob.js';
import type { ReceiptFilters } from './receipt-filters.js';

const FORMATS = ['csv', 'xlsx', 'ndjson'] as const;

type State =
  | { kind: 'idle' }
  | { kind: 'running'; bytes: number }
  | { kind: 'done'; bytes: number }
  | { kind: 'failed'; problem: unknown };

/** The file of all receipts that fit the filters, with its growing size; it can be given up. */
export function ExportReceipts({ filters }: { filters: ReceiptFilters }): ReactElement {
  const { receipts, action } = useWords();
  const [state, setState] = useState<State>({ kind: 'idle' });
  const running = useRef<AbortController | null>(null);
  // A screen that was left saves no file, and holds no place at the gateway.
  useEffect(() => () => running.current?.abort(), []);
  const run = async (format: string): Promise<void> => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setState({ kind: 'running', bytes: 0 });
    try {
      const query = { ...filters, format };
      const response = await send({
        ...{ method: 'GET', path: '/v1/receipts/export', query, signal: abort.signal },
        headers: { accept: '*/*' },
      });
      const parts = await readWhole(response, (bytes) => setState({ kind: 'running', bytes }));
      saveBlob(parts.blob, `receipts-${tashkentDay(new Date())}.${format}`);
      setState({ kind: 'done', bytes: parts.bytes });
    } catch (problem) {
      if (running.current !== abort) return;
      setState(abort.signal.aborted ? { kind: 'idle' } : { kind: 'failed', problem });
    }
  };
  const kib = (bytes: number): string => formatCount(Math.ceil(bytes / 1024));
  return (
    <>
      <Menu
        label={receipts.exportAs}
        entries={FORMATS.map((format) => ({
          key: format,
          label: format.toUpperCase(),
          onSelect: () => void run(format),
        }))}
      />
      {state.kind === 'running' && (
        <span className="inline-note" role="status">
          <span className="spinner" aria-hidden="true" /> {receipts.exporting(kib(state.bytes))}{' '}
          <Button tone="quiet" onClick={() => running.current?.abort()}>
            {action.cancel}
          </Button>
        </span>
      )}
      {state.kind === 'done' && (
        <span className="inline-note" role="status">
          {receipts.exported(kib(state.bytes))}
        </span>
      )}
      {state.kind === 'failed' && <ProblemNote problem={state.problem} />}
    </>
  );
}

async function readWhole(response: Response, onBytes: (bytes: number) => void): Promise<{ blob: Blob; bytes: number }> {
  const reader = response.body?.getReader();
  const parts: BlobPart[] = [];
  let bytes = 0;
  // A transfer that is cut off rejects here: half a file is never saved as a whole one.
  for (let step = await reader?.read(); step && !step.done; step = await reader?.read()) {
    parts.push(step.value);
    bytes += step.value.length;
    onBytes(bytes);
  }
  const type = response.headers.get('content-type') ?? 'application/octet-stream';
  return { blob: new Blob(parts, { type }), bytes };
}
