import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ComponentType, ReactElement, ReactNode } from 'react';
import { ApiProblem } from '../api/problem.js';
import { useWords } from '../i18n/i18n.js';
import { useSession } from '../session/session-context.js';
import { Button } from './button.js';

export function Loading(): ReactElement {
  const { state } = useWords();
  return (
    <p className="state" role="status">
      <span className="spinner" aria-hidden="true" /> {state.loading}
    </p>
  );
}

export function Empty({ children }: { children?: ReactNode }): ReactElement {
  const { state } = useWords();
  return <div className="state state-empty">{children ?? state.empty}</div>;
}

/** A problem as the gateway gave it: what, where, and the number under which its log has it. */
export function ProblemNote({ problem, onRetry }: { problem: unknown; onRetry?: () => void }): ReactElement | null {
  const words = useWords();
  if (problem === null || problem === undefined) return null;
  const own =
    problem instanceof ApiProblem
      ? problem
      : new ApiProblem(0, 'client', problem instanceof Error ? problem.message : '');
  return (
    <div className="problem" role="alert">
      <p>
        <strong>{problemText(own, words)}</strong> <code className="code">{own.code}</code>
      </p>
      {own.faults.length > 0 && (
        <ul>
          {own.faults.map((fault, index) => (
            <li key={index}>
              {fault.pointer !== '' && <code className="code">{fault.pointer}</code>} {fault.detail}
            </li>
          ))}
        </ul>
      )}
      {own.more.approvalId && (
        <p>
          {words.problem.approval(own.more.approvalId)}{' '}
          <Link to="/access" search={{ view: 'approvals' }}>
            {words.problem.toApprovals}
          </Link>
        </p>
      )}
      {own.more.retryAfterSeconds ? <p>{words.problem.retryIn(own.more.retryAfterSeconds)}</p> : null}
      {own.more.requestId && (
        <p className="hint">
          {words.problem.requestId}: <code className="code">{own.more.requestId}</code>
        </p>
      )}
      {onRetry && <Button onClick={onRetry}>{words.state.retry}</Button>}
    </div>
  );
}

function problemText(problem: ApiProblem, { problem: texts, state }: ReturnType<typeof useWords>): string {
  if (problem.code === 'network') return texts.network;
  if (problem.code === 'unreadable') return texts.unreadable;
  if (problem.code === 'insufficient_scope') return state.noPermission;
  if (problem.status === 404) return state.missing;
  return problem.detail || state.failed;
}

/** The detail of the fault at this pointer; for the field that is about it. */
export function faultAt(problem: unknown, pointer: string): string | null {
  if (!(problem instanceof ApiProblem)) return null;
  return problem.faults.find((fault) => fault.pointer === pointer)?.detail ?? null;
}

/** Loading, failed, or there: what every screen shows of its query. */
export function Loaded<T>({
  query,
  children,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
}): ReactElement {
  if (query.data !== undefined) {
    return (
      <>
        {query.error && <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />}
        {children(query.data)}
      </>
    );
  }
  if (query.error) return <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />;
  return <Loading />;
}

/** A screen that needs a scope; without it the sentence that says so, and no call is made. */
export function NeedsScope({ scope, children }: { scope: string; children: ReactNode }): ReactElement {
  const { can } = useSession();
  return can(scope) ? <>{children}</> : <NoPermission scope={scope} />;
}

/** The same of a whole screen. */
export function withScope(scope: string, Screen: ComponentType): () => ReactElement {
  return () => (
    <NeedsScope scope={scope}>
      <Screen />
    </NeedsScope>
  );
}

/** Of a screen about the whole installation. */
export function withPlatformScope(scope: 'platform:read', Screen: ComponentType): () => ReactElement {
  return function OfPlatform() {
    const { canOverMerchants } = useSession();
    return canOverMerchants(scope) ? <Screen /> : <NoPermission scope={scope} />;
  };
}

function NoPermission({ scope }: { scope: string }): ReactElement {
  const { state } = useWords();
  return (
    <div className="state" role="status">
      <p>
        <strong>{state.noPermission}</strong>
      </p>
      <p className="hint">{state.noPermissionHint(scope)}</p>
    </div>
  );
}
