import type { OperatorFixture } from '../../apps/gateway/src/operator/testing/operator-fixture.js';

/** What a relay and its register would do with the receipts of a gateway: each comes to its end and is published. */
export abstract class SettledReceipts {
  abstract gateway: OperatorFixture;
  /** Of what the register has, by receipt: it knows keys. */
  readonly sequences = new Map<string, number>();
  /** What the register does with what reaches its lane. */
  register: 'registers' | 'rejects' | 'sleeps' = 'registers';
  private isStopped = false;
  private registering: Promise<void> = Promise.resolve();
  private round: Promise<void> = Promise.resolve();

  protected beginRegistering(): void {
    this.registering = this.registerReceipts();
  }

  protected async endRegistering(): Promise<void> {
    this.isStopped = true;
    await this.registering;
  }

  private async registerReceipts(): Promise<void> {
    while (!this.isStopped) {
      this.round = this.registerOnce();
      await this.round;
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  }

  /** What is done while the register has nothing in hand. */
  async whileAsleep(work: () => Promise<void>): Promise<void> {
    const before = this.register;
    this.register = 'sleeps';
    await this.round;
    await work();
    this.register = before;
  }

  private isAsleep(): boolean {
    return this.register === 'sleeps';
  }

  /** Takes what is accepted to its end, as a relay leaves it, and publishes it. */
  private async registerOnce(): Promise<void> {
    if (this.isAsleep()) return;
    const { prisma } = this.gateway;
    const rows = await prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM receipts WHERE status = 'accepted' AND (dispatch_before IS NULL OR dispatch_before > now())
       ORDER BY lane_place`;
    for (const { id } of rows) {
      // A test that has it sleep means what it sells from there on, and that may be among what was read for this round.
      if (this.isAsleep()) return;
      await (this.register === 'rejects' ? this.rejected(id) : this.registered(id));
    }
  }

  /** The register has it, and it is known. */
  async registered(id: string): Promise<void> {
    const sequence = this.sequences.get(id) ?? this.sequences.size + 1;
    this.sequences.set(id, sequence);
    const sign = String(sequence).padStart(12, '0');
    const url = `https://ofd.soliq.uz/check?t=UZ000000000001&r=${String(sequence)}&c=20260102080405&s=${sign}`;
    await this.gateway.prisma.$executeRaw`
      UPDATE receipts SET status = 'registered', terminal_id = 'UZ000000000001', receipt_seq = ${sequence},
             fiscal_sign = ${sign}, verification_url = ${url}, registered_at = now(), evidence = 'answer',
             ofd_status = 'sent' WHERE id = ${id} AND status IN ('accepted', 'sending', 'unknown')`;
    await this.notify(id);
  }

  /** The register has refused it. */
  async rejected(id: string): Promise<void> {
    const rejection = JSON.stringify({ code: 'E-013', rule: null, detail: 'refused', line: null });
    await this.gateway.prisma.$executeRaw`
      UPDATE receipts SET status = 'rejected', rejection = ${rejection}::jsonb WHERE id = ${id} AND status = 'accepted'`;
    await this.notify(id);
  }

  private async notify(id: string): Promise<void> {
    await this.gateway.prisma.$queryRaw`SELECT pg_notify('receipt_settled', ${id})::text`;
  }
}
