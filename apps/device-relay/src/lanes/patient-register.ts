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
    prepareReceipt: async (body, idempotencyKey): Promise<PreparedReceipt> => {
      const prepared = await patiently(() => register.prepareReceipt(body, idempotencyKey));
      if (prepared.kind !== 'ready') return prepared;
      const { call } = prepared;
      return {
        kind: 'ready',
        call: { send: (mayStillSend) => patiently(() => call.send(mayStillSend)), abandon: () => call.abandon() },
      };
    },
  };
}
