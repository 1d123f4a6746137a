export {
  assertMove,
  ATTEMPT_STATES,
  canMove,
  canMoveAttempt,
  IllegalMoveError,
  isFinalStatus,
  type AttemptState,
  type Mover,
} from './moves.js';
