import { text } from 'node:stream/consumers';
import yauzl from 'yauzl';

/** The texts and numbers of each sheet, row by row, read as any other program would: from the zip's directory. */
export async function readXlsx(file: Buffer): Promise<{ names: string[]; sheets: string[][][] }> {
  const parts = await unzip(file);
  const names = [...parts.keys()].sort();
  const sheets = names.filter((name) => name.startsWith('xl/worksheets/')).map((name) => rowsOf(parts.get(name) ?? ''));
  return { names, sheets };
}

function unzip(file: Buffer): Promise<Map<string, string>> {
  return new Promise((resolve, reject) => {
    yauzl.fromBuffer(file, { lazyEntries: true }, (error, zip) => {
      if (error) return reject(error);
      const parts = new Map<string, string>();
      zip.on('error', reject);
      zip.on('end', () => resolve(parts));
      zip.on('entry', (entry: yauzl.Entry) => {
        zip.openReadStream(entry, (failure, stream) => {
          if (failure) return reject(failure);
          void text(stream).then((content) => {
            parts.set(entry.fileName, content);
            zip.readEntry();
          }, reject);
        });
      });
      zip.readEntry();
    });
  });
}

function rowsOf(xml: string): string[][] {
  return [...xml.matchAll(/<row>(.*?)<\/row>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<c\/>|<c[^>]*>(?:<v>([^<]*)<\/v>|<is><t[^>]*>([^<]*)<\/t><\/is>)<\/c>/g)].map(
      ([, number, text]) => number ?? text ?? '',
    ),
  );
}
