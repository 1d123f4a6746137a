import type { ClassifierEntry } from '#fiscal-domain';
import { sampleEntries, type CatalogFixture } from '../../catalog/testing/catalog-fixture.js';
import type { RegisterSite, SiteRow } from './register-site.js';

/** The sample alone is in force, no merchant has goods, and the tax side shows `rows` and has no trouble. */
export async function beginAnew(catalog: CatalogFixture, site: RegisterSite, rows: SiteRow[]): Promise<void> {
  const { prisma } = catalog.gateway;
  for (const table of ['classifier_entries', 'classifier_history', 'classifier_imports', 'classifier_drafts'])
    await prisma.$executeRawUnsafe(`DELETE FROM ${table}`);
  await prisma.$executeRaw`DELETE FROM affected_products`;
  await prisma.$executeRaw`DELETE FROM products`;
  await catalog.storeEntries(sampleEntries());
  Object.assign(site, { rows, inactive: [], changes: [], troubles: [] });
  site.asked.length = 0;
}

/** An entry as the tax side's own file shows it. */
export function siteRow(entry: ClassifierEntry): SiteRow {
  const { spic, packages, marked, cash_allowed: cash, name } = entry;
  return { spic, packages, marked, cash, ru: name.ru, uz: name.uz };
}
