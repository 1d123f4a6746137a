// Promise: a wrong method on a path that exists is a 405 that names the right ones.
import { RouteTable } from './route-table.js';

test('finds the methods of fixed, parametric and wildcard paths', () => {
  const routes = new RouteTable();
  routes.add('/v1/receipts', 'POST');
  routes.add('/v1/receipts', ['GET', 'HEAD']);
  routes.add('/v1/receipts/:id', 'GET');
  routes.add('/docs/*', 'GET');
  routes.add('/a.b', 'GET');
  expect(routes.methodsOf('/v1/receipts')).toEqual(['GET', 'HEAD', 'POST']);
  expect(routes.methodsOf('/v1/receipts/rcp_1')).toEqual(['GET']);
  expect(routes.methodsOf('/docs/x/y.css')).toEqual(['GET']);
  expect(routes.methodsOf('/%761/recei%70ts?x=/v1')).toEqual(['GET', 'HEAD', 'POST']);
  expect(routes.methodsOf('HTTP://host:1/v1/receipts/a#b?c')).toEqual(['GET']);
  expect(routes.methodsOf('/v1%2Freceipts')).toEqual([]);
  for (const path of ['/v1/receipts/', '/v1/receipts/a/b', '/v1', '/', '/aXb'])
    expect(routes.methodsOf(path)).toEqual([]);
});
