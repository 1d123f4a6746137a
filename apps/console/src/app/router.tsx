import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  useNavigate,
  useRouter,
} from '@tanstack/react-router';
import { useEffect, useState, type ReactElement } from 'react';
import { useWords } from '../i18n/i18n.js';
import { useSession } from '../session/session-context.js';
import { SessionProvider } from '../session/session-provider.js';
import { Button } from '../ui/button.js';
import { Empty, Loading } from '../ui/states.js';
import { parseSearch, stringifySearch, textsIn } from './search-text.js';
import { screensFor } from './screens.js';
import { Shell } from './shell.js';
import { receiptFilters } from '../screens/receipts/receipt-filters.js';
import { reportSearch } from '../screens/reports/report-search.js';

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  component: lazyRouteComponent(() => import('../session/login-page.js'), 'LoginPage'),
  validateSearch: textsIn('return_to', 'error'),
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
  component: FirstScreen,
});

const overview = createRoute({
  getParentRoute: () => app,
  path: '/overview',
  component: lazyRouteComponent(() => import('../screens/overview/overview-screen.js'), 'OverviewScreen'),
});

const onboarding = createRoute({
  getParentRoute: () => app,
  path: '/onboarding',
  component: lazyRouteComponent(() => import('../screens/onboarding/onboarding-screen.js'), 'OnboardingScreen'),
});

const platform = createRoute({
  getParentRoute: () => app,
  path: '/platform',
  validateSearch: textsIn('mode', 'suspended'),
  component: lazyRouteComponent(() => import('../screens/platform/platform-screen.js'), 'PlatformScreen'),
});

const platformMerchant = createRoute({
  getParentRoute: () => app,
  path: '/platform/$id',
  component: lazyRouteComponent(
    () => import('../screens/platform/platform-merchant-screen.js'),
    'PlatformMerchantScreen',
  ),
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
  validateSearch: textsIn('state', 'q', 'view'),
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
  validateSearch: textsIn('view'),
  component: lazyRouteComponent(() => import('../screens/payments/payments-screen.js'), 'PaymentsScreen'),
});

const settlement = createRoute({
  getParentRoute: () => app,
  path: '/settlements/$id',
  component: lazyRouteComponent(() => import('../screens/settlements/settlement-screen.js'), 'SettlementScreen'),
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
  validateSearch: textsIn('state', 'type', 'http_status'),
  component: lazyRouteComponent(() => import('../screens/webhooks/webhook-screen.js'), 'WebhookScreen'),
});

const goods = createRoute({
  getParentRoute: () => app,
  path: '/goods',
  validateSearch: textsIn('view', 'q', 'archived'),
  component: lazyRouteComponent(() => import('../screens/goods/goods-screen.js'), 'GoodsScreen'),
});

const product = createRoute({
  getParentRoute: () => app,
  path: '/goods/$id',
  component: lazyRouteComponent(() => import('../screens/goods/product-screen.js'), 'ProductScreen'),
});

const messages = createRoute({
  getParentRoute: () => app,
  path: '/messages',
  validateSearch: textsIn('view'),
  component: lazyRouteComponent(() => import('../screens/messages/messages-screen.js'), 'MessagesScreen'),
});

const access = createRoute({
  getParentRoute: () => app,
  path: '/access',
  validateSearch: textsIn('view'),
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

const terminal = createRoute({
  getParentRoute: () => app,
  path: '/terminal',
  validateSearch: textsIn('challenge', 'state', 'port'),
  component: lazyRouteComponent(() => import('../session/terminal-page.js'), 'TerminalPage'),
});

/** Any other address: the frame stays, so that there is a way on. */
const elsewhere = createRoute({ getParentRoute: () => app, path: '$', component: NotFound });

export const router = createRouter({
  routeTree: root.addChildren([
    login,
    invitation,
    app.addChildren([
      index,
      overview,
      onboarding,
      platform,
      platformMerchant,
      receipts,
      receipt,
      unknown,
      registers,
      register,
      payments,
      settlement,
      payment,
      webhooks,
      webhook,
      goods,
      product,
      messages,
      reports,
      access,
      account,
      terminal,
      elsewhere,
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

/** The first screen that the person's rights lead to; who has none still has an account. */
function FirstScreen(): ReactElement {
  const session = useSession();
  const offered = screensFor(session);
  const isOverMerchants = session.me.kind === 'user' && !session.me.merchant;
  const first = offered.find(({ key }) => isOverMerchants && key === 'platform') ?? offered[0];
  const navigate = useNavigate();
  const path = first?.path ?? '/account';
  useEffect(() => void navigate({ to: path, replace: true }), [navigate, path]);
  return <Loading />;
}

/** Once: the component `Navigate` would do it again with every step of the way there. */
function ToLogin(): ReactElement {
  const navigate = useNavigate();
  const { state } = useRouter();
  const [wanted] = useState(state.location.href);
  useEffect(
    () => void navigate({ to: '/login', search: wanted === '/' ? {} : { return_to: wanted }, replace: true }),
    [navigate, wanted],
  );
  return <Loading />;
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
