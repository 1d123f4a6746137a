import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  Outlet,
  redirect,
  useLocation,
} from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { useWords } from '../i18n/i18n.js';
import { LoginPage } from '../session/login-page.js';
import { SessionProvider } from '../session/session-provider.js';
import { Button } from '../ui/button.js';
import { Empty, Loading } from '../ui/states.js';
import { parseSearch, stringifySearch } from './search-text.js';
import { Shell } from './shell.js';
import { receiptFilters } from '../screens/receipts/receipt-filters.js';
import { reportSearch } from '../screens/reports/report-search.js';

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  component: LoginPage,
  validateSearch: (given: Record<string, unknown>): { return_to?: string; error?: string } => ({
    ...textOf(given, 'return_to'),
    ...textOf(given, 'error'),
  }),
});

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyRouteComponent(() => import('../session/invitation-page.js'), 'InvitationPage'),
});

const app = createRoute({ getParentRoute: () => root, id: 'app', component: SignedIn });

const index = createRoute({
  getParentRoute: () => app,
  path: '/',
  beforeLoad: () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router's own way to lead elsewhere
    throw redirect({ to: '/receipts' });
  },
});

const receipts = createRoute({
  getParentRoute: () => app,
  path: '/receipts',
  validateSearch: receiptFilters,
  component: lazyRouteComponent(() => import('../screens/receipts/receipts-screen.js'), 'ReceiptsScreen'),
});

const receipt = createRoute({
  getParentRoute: () => app,
  path: '/receipts/$id',
  component: lazyRouteComponent(() => import('../screens/receipts/receipt-screen.js'), 'ReceiptScreen'),
});

const unknown = createRoute({
  getParentRoute: () => app,
  path: '/unknown',
  component: lazyRouteComponent(() => import('../screens/unknown/unknown-screen.js'), 'UnknownScreen'),
});

const registers = createRoute({
  getParentRoute: () => app,
  path: '/registers',
  validateSearch: (given: Record<string, unknown>): { state?: string } => textOf(given, 'state'),
  component: lazyRouteComponent(() => import('../screens/registers/registers-screen.js'), 'RegistersScreen'),
});

const register = createRoute({
  getParentRoute: () => app,
  path: '/registers/$id',
  component: lazyRouteComponent(() => import('../screens/registers/register-screen.js'), 'RegisterScreen'),
});

const payments = createRoute({
  getParentRoute: () => app,
  path: '/payments',
  validateSearch: (given: Record<string, unknown>): { view?: string } => textOf(given, 'view'),
  component: lazyRouteComponent(() => import('../screens/payments/payments-screen.js'), 'PaymentsScreen'),
});

const payment = createRoute({
  getParentRoute: () => app,
  path: '/payments/$id',
  component: lazyRouteComponent(() => import('../screens/payments/payment-screen.js'), 'PaymentScreen'),
});

const webhooks = createRoute({
  getParentRoute: () => app,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('../screens/webhooks/webhooks-screen.js'), 'WebhooksScreen'),
});

const webhook = createRoute({
  getParentRoute: () => app,
  path: '/webhooks/$id',
  validateSearch: (given: Record<string, unknown>): { state?: string } => textOf(given, 'state'),
  component: lazyRouteComponent(() => import('../screens/webhooks/webhook-screen.js'), 'WebhookScreen'),
});

const goods = createRoute({
  getParentRoute: () => app,
  path: '/goods',
  validateSearch: (given: Record<string, unknown>): { q?: string; archived?: string } => ({
    ...textOf(given, 'q'),
    ...textOf(given, 'archived'),
  }),
  component: lazyRouteComponent(() => import('../screens/goods/goods-screen.js'), 'GoodsScreen'),
});

const product = createRoute({
  getParentRoute: () => app,
  path: '/goods/$id',
  component: lazyRouteComponent(() => import('../screens/goods/product-screen.js'), 'ProductScreen'),
});

const access = createRoute({
  getParentRoute: () => app,
  path: '/access',
  validateSearch: (given: Record<string, unknown>): { view?: string } => textOf(given, 'view'),
  component: lazyRouteComponent(() => import('../screens/access/access-screen.js'), 'AccessScreen'),
});

const reports = createRoute({
  getParentRoute: () => app,
  path: '/reports',
  validateSearch: reportSearch,
  component: lazyRouteComponent(() => import('../screens/reports/reports-screen.js'), 'ReportsScreen'),
});

const account = createRoute({
  getParentRoute: () => app,
  path: '/account',
  component: lazyRouteComponent(() => import('../session/account-screen.js'), 'AccountScreen'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    login,
    invitation,
    app.addChildren([
      index,
      receipts,
      receipt,
      unknown,
      registers,
      register,
      payments,
      payment,
      webhooks,
      webhook,
      goods,
      product,
      reports,
      access,
      account,
    ]),
  ]),
  basepath: '/console',
  defaultPendingComponent: Loading,
  defaultErrorComponent: Crashed,
  defaultPreload: 'intent',
  scrollRestoration: true,
  parseSearch,
  stringifySearch,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

function SignedIn(): ReactElement {
  return (
    <SessionProvider signedOut={<ToLogin />}>
      <Shell />
    </SessionProvider>
  );
}

function ToLogin(): ReactElement {
  const { href } = useLocation();
  return <Navigate to="/login" search={href === '/' ? {} : { return_to: href }} replace />;
}

function NotFound(): ReactElement {
  const { state } = useWords();
  return <Empty>{state.notFound}</Empty>;
}

/** A fault of ours: the screen fails, the frame and what was typed stay. */
function Crashed({ error }: { error: unknown }): ReactElement {
  const { state } = useWords();
  return (
    <div className="problem" role="alert">
      <p>{state.crashed}</p>
      <p>
        <code className="code">{error instanceof Error ? error.message : String(error)}</code>
      </p>
      <Button onClick={() => location.reload()}>{state.reload}</Button>
    </div>
  );
}

/** What an address gives under this name, when it is a text. */
function textOf<Name extends string>(given: Record<string, unknown>, name: Name): { [Key in Name]?: string } {
  const value = given[name];
  return (typeof value === 'string' && value !== '' ? { [name]: value } : {}) as { [Key in Name]?: string };
}
