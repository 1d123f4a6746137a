import { asideWhileSilent, type PlaceInUse } from '../shares/places.js';
import type { PreparedReceipt, Register } from '../devices/register.js';

/** A register that holds its lane's place only while it answers: a silent one hinders no other lane. */
export function patientRegister(register: Register, place: PlaceInUse): Register {
  const patiently = <T>(call: () => Promise<T>): Promise<T> => asideWhileSilent(place, call);
  return {
    status: () => patiently(() => register.status()),
    fmInfo: () => patiently(() => register.fmInfo()),
    business: () => patiently(() => register.business()),
    branch: () => patiently(() => register.branch()),
    openShift: () => patiently(() => register.openShift()),
    closeShift: () => patiently(() => register.closeShift()),
    currentZReport: () => patiently(() => register.currentZReport()),
    zReportStats: () => patiently(() => register.zReportStats()),
    sendUnsentReceipts: () => patiently(() => register.sendUnsentReceipts()),
    sendUnsentZReports: () => patiently(() => register.sendUnsentZReports()),
    findBySeq: (seq) => patiently(() => register.findBySeq(seq)),
    prepareReceipt: async (body, idempotencyKey) =>
      patientCall(await patiently(() => register.prepareReceipt(body, idempotencyKey)), place),
  };
}

/** The same for a connection that was not waited for. */
export function patientCall(prepared: PreparedReceipt, place: PlaceInUse): PreparedReceipt {
  if (prepared.kind !== 'ready') return prepared;
  const { call } = prepared;
  return {
    kind: 'ready',
    call: {
      send: (mayStillSend) => asideWhileSilent(place, () => call.send(mayStillSend)),
      abandon: () => call.abandon(),
    },
  };
}
