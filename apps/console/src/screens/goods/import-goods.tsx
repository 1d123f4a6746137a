import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type DragEvent, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { fillPath, send } from '../../api/call.js';
import { ApiProblem } from '../../api/problem.js';
import { formatCount } from '../../format/money.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { RadioField } from '../../ui/field.js';
import { saveBlob } from '../../ui/save-blob.js';
import { Facts } from '../../ui/shown.js';
import { ProblemNote } from '../../ui/states.js';

type Import = Schema<'ImportView'>;
type Mode = 'upsert' | 'full';

const MEDIA_TYPES: Record<string, string> = {
  csv: 'text/csv',
  jsonl: 'application/x-ndjson',
  ndjson: 'application/x-ndjson',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

function mediaTypeOf({ name }: File): string | null {
  return MEDIA_TYPES[name.split('.').at(-1)?.toLowerCase() ?? ''] ?? null;
}

/** A file of goods: dropped or chosen, followed to its end, and what of it was not taken as a file again. */
export function ImportGoods(): ReactElement {
  const { goods } = useWords();
  const client = useQueryClient();
  const [mode, setMode] = useState<Mode>('upsert');
  const [isOver, setOver] = useState(false);
  const start = useMutation({
    mutationFn: async (file: File) => {
      const type = mediaTypeOf(file);
      if (type === null) throw new ApiProblem(0, 'file_type', goods.wrongType);
      const call = { method: 'POST', path: '/v1/catalog/imports', query: { mode }, body: file };
      return (await (await send({ ...call, headers: { 'content-type': type } })).json()) as Import;
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['goods'] }),
  });
  const take = (file: File | undefined): void => {
    if (file && !start.isPending) start.mutate(file);
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files[0]);
  };
  return (
    <div className="stack">
      <RadioField
        legend={goods.mode}
        name="mode"
        value={mode}
        options={[
          { value: 'upsert', label: goods.upsert },
          { value: 'full', label: goods.full },
        ]}
        onValue={setMode}
      />
      <label
        className={isOver ? 'drop drop-over' : 'drop'}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <span>{goods.importText}</span>
        <input
          type="file"
          aria-label={goods.choose}
          accept=".csv,.xlsx,.jsonl,.ndjson"
          disabled={start.isPending}
          onChange={(event) => {
            take(event.target.files?.[0]);
            // The same file may be chosen again after it was mended.
            event.target.value = '';
          }}
        />
      </label>
      {start.isPending && (
        <p role="status" className="inline-note">
          <span className="spinner" aria-hidden="true" /> {goods.importing}
        </p>
      )}
      <ProblemNote problem={start.error} />
      {start.data && <Progress key={start.data.id} first={start.data} />}
    </div>
  );
}

function Progress({ first }: { first: Import }): ReactElement {
  const { goods } = useWords();
  const client = useQueryClient();
  const query = useQuery({
    queryKey: ['import', first.id],
    queryFn: async () => {
      const now = await api('get', '/v1/catalog/imports/{id}', { path: { id: first.id } });
      if (now.state !== 'running') await client.invalidateQueries({ queryKey: ['goods'] });
      return now;
    },
    initialData: first,
    enabled: first.state === 'running',
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? 1_000 : false),
  });
  const { state, progress, error, format } = query.data;
  const rejected = useMutation({
    mutationFn: async () => {
      const path = fillPath('/v1/catalog/imports/{id}/rejected', { id: first.id });
      const response = await send({ method: 'GET', path, headers: { accept: '*/*' } });
      saveBlob(await response.blob(), `rejected.${format}`);
    },
  });
  const shown = (value: number | undefined): string | null => (value === undefined ? null : formatCount(value));
  return (
    <div className="stack">
      <p role="status">
        <strong>
          {state === 'running' ? goods.importing : state === 'done' ? goods.importDone : goods.importFailed}
        </strong>{' '}
        {error}
      </p>
      <Facts
        rows={[
          [goods.rows, shown(progress.rows)],
          [goods.created, shown(progress.created)],
          [goods.updated, shown(progress.updated)],
          [goods.unchanged, shown(progress.unchanged)],
          [goods.archived, shown(progress.archived)],
          [goods.rejected, shown(progress.rejected)],
        ]}
      />
      {(progress.rejected ?? 0) > 0 && state !== 'running' && (
        <Button onClick={() => rejected.mutate()} busy={rejected.isPending}>
          {goods.rejectedFile}
        </Button>
      )}
      <ProblemNote problem={rejected.error ?? query.error} />
    </div>
  );
}
