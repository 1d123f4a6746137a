import { useQuery, useQueryClient } from '@tanstack/react-query';
import {
  lazy,
  Suspense,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  type ReactElement,
  type ReactNode,
} from 'react';
import { callState, sendBare } from '../api/call.js';
import { useWords } from '../i18n/i18n.js';
import { Dialog } from '../ui/dialog.js';
import { Loading, ProblemNote } from '../ui/states.js';
import { forgetDrafts } from '../ui/use-draft.js';
import { LoginForm } from './login-form.js';
import { holds, holdsOverMerchants, SessionContext, type Me, type Session } from './session-context.js';
import { beginAnew, keepMerchant, PERSON_KEY, readMe, takeTab } from './sign-in.js';

// Rarely asked for, and the first load is bounded.
const StepUpForm = lazy(() => import('./step-up-form.js').then((module) => ({ default: module.StepUpForm })));

type Question = 'logIn' | 'stepUp';

interface Props {
  /** Shown when no session is. */
  signedOut: ReactNode;
  children: ReactNode;
}

/** Reads who is here, and asks the person where a call needs it: over the screen, which stays as it is. */
export function SessionProvider({ signedOut, children }: Props): ReactElement {
  const me = useQuery({ queryKey: ['me'], queryFn: readMe, staleTime: 60_000, retry: 1 });
  const { question, answer } = useQuestions(me.data !== undefined && me.data !== null);
  const session = useSessionOf(me.data ?? null);
  useOthersLogin();
  if (me.data === undefined) {
    return (
      <main className="alone">
        {me.error ? <ProblemNote problem={me.error} onRetry={() => void me.refetch()} /> : <Loading />}
      </main>
    );
  }
  if (session === null) return <>{signedOut}</>;
  return (
    <SessionContext value={session}>
      {children}
      <Questions question={question} me={session.me} answer={answer} />
    </SessionContext>
  );
}

/** Another person has logged in beside this tab: its calls are that one's from now on, and so must be what it shows. */
function useOthersLogin(): void {
  const client = useQueryClient();
  useEffect(() => {
    const onChange = ({ key }: StorageEvent): void => {
      if (key === PERSON_KEY) void client.invalidateQueries({ queryKey: ['me'] });
    };
    addEventListener('storage', onChange);
    return () => removeEventListener('storage', onChange);
  }, [client]);
}

function useSessionOf(me: Me | null): Session | null {
  const client = useQueryClient();
  const chooseMerchant = useCallback(
    (id: string) => {
      keepMerchant(id);
      forgetDrafts();
      // What is shown belongs to the merchant before.
      client.clear();
      void beginAnew();
    },
    [client],
  );
  const logOut = useCallback(async () => {
    const response = await sendBare({ method: 'POST', path: '/v1/session/logout', body: {} });
    const { redirect_url: url } = (await response.json()) as { redirect_url: string | null };
    forgetDrafts();
    client.clear();
    location.assign(url ?? '/console/login');
  }, [client]);
  return useMemo(
    () =>
      me === null
        ? null
        : {
            me,
            can: (scope) => holds(me.scopes, scope),
            canOverMerchants: (scope) => holdsOverMerchants(me, scope),
            chooseMerchant,
            logOut,
          },
    [me, chooseMerchant, logOut],
  );
}

/** One question at a time; calls that ask the same meanwhile wait for the same answer. */
function useQuestions(isSignedIn: boolean): {
  question: Question | null;
  answer: (question: Question, isDone: boolean) => void;
} {
  const [question, setQuestion] = useState<Question | null>(null);
  const waiting = useRef<Record<Question, ((isDone: boolean) => void)[]>>({ logIn: [], stepUp: [] });
  const ask = useCallback((what: Question): Promise<boolean> => {
    setQuestion((before) => (before === 'logIn' ? before : what));
    return new Promise((resolve) => waiting.current[what].push(resolve));
  }, []);
  useEffect(() => {
    callState.hooks = isSignedIn ? { logIn: () => ask('logIn'), stepUp: () => ask('stepUp') } : null;
    return () => {
      callState.hooks = null;
    };
  }, [isSignedIn, ask]);
  const answer = useCallback((what: Question, isDone: boolean) => {
    const asked = waiting.current[what].splice(0);
    setQuestion(waiting.current.stepUp.length > 0 ? 'stepUp' : null);
    for (const resolve of asked) resolve(isDone);
  }, []);
  return { question, answer };
}

/** Who has two tabs logs in once: a tab that asks for it looks again when the person comes back to it. */
function useLoginElsewhere(isAsking: boolean, loggedIn: (me: Me) => void): void {
  useEffect(() => {
    if (!isAsking) return undefined;
    const look = (): void => {
      if (document.visibilityState !== 'visible') return;
      void readMe()
        .then((me) => {
          if (me !== null) loggedIn(me);
        })
        // The question stays, and its own answer will say what is wrong.
        .catch(() => undefined);
    };
    addEventListener('focus', look);
    document.addEventListener('visibilitychange', look);
    return () => {
      removeEventListener('focus', look);
      document.removeEventListener('visibilitychange', look);
    };
    // `loggedIn` does the same at each rendering
  }, [isAsking]);
}

interface QuestionsProps {
  question: Question | null;
  me: Me;
  answer: (question: Question, isDone: boolean) => void;
}

function Questions({ question, me, answer }: QuestionsProps): ReactElement {
  const { login, stepUp } = useWords();
  const client = useQueryClient();
  const loggedIn = (now: Me): void => {
    if (takeTab(now)) {
      void beginAnew();
      return;
    }
    answer('logIn', true);
    void client.invalidateQueries({ queryKey: ['me'] });
  };
  useLoginElsewhere(question === 'logIn', loggedIn);
  return (
    <>
      <Dialog title={login.title} open={question === 'logIn'} onClose={() => answer('logIn', false)} isFirm>
        <p>{login.expired}</p>
        <LoginForm onDone={loggedIn} />
      </Dialog>
      <Dialog title={stepUp.title} open={question === 'stepUp'} onClose={() => answer('stepUp', false)}>
        <Suspense fallback={<Loading />}>
          <StepUpForm methods={me.step_up_methods ?? ['totp']} onDone={() => answer('stepUp', true)} />
        </Suspense>
      </Dialog>
    </>
  );
}
