import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import {
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  Module,
  Post,
  UnauthorizedException,
  UnprocessableEntityException,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Queue } from 'bullmq';
import { Type } from 'class-transformer';
import { ArrayNotEmpty, IsIn, IsInt, IsString, Min, ValidateNested } from 'class-validator';
import { OBVIOUS_QUEUE, obviousDatabase, redisConnection } from './table.js';

/**
 * What a team would otherwise build in two weeks: Nest, Prisma's `create`, one BullMQ job per receipt (worker.ts does the rest).
 * A token that is compared, a body that is checked, VAT and totals that are computed; no proof of anything.
 */
class ItemBody {
  @IsString() name!: string;
  @IsString() spic!: string;
  @IsString() packageCode!: string;
  @IsInt() units!: number;
  @IsInt() @Min(1) price!: number;
  @IsInt() @Min(1) qty!: number;
  @IsInt() @Min(0) vatPercent!: number;
}

class PaymentBody {
  @IsIn(['cash', 'card']) method!: string;
}

class ReceiptBody {
  @IsString() cashier_id!: string;
  @ArrayNotEmpty() @ValidateNested({ each: true }) @Type(() => ItemBody) items!: ItemBody[];
  @ValidateNested() @Type(() => PaymentBody) payment!: PaymentBody;
}

const TOKEN = `Bearer ${process.env['API_TOKEN']}`;
/** By cashier. */
const REGISTERS = new Map(Object.entries(JSON.parse(process.env['REGISTERS'] ?? '{}') as Record<string, string>));
const prisma = obviousDatabase();
const queue = new Queue(OBVIOUS_QUEUE, {
  connection: redisConnection(),
  defaultJobOptions: { attempts: 5, backoff: 1_000, removeOnComplete: true, removeOnFail: true },
});

@Controller()
class ReceiptsController {
  @Post('v1/receipts')
  @HttpCode(202)
  async create(
    @Body() body: ReceiptBody,
    @Headers('authorization') authorization: string | undefined,
    @Headers('idempotency-key') clientKey: string | undefined,
  ): Promise<unknown> {
    if (authorization !== TOKEN) throw new UnauthorizedException();
    const registerUrl = REGISTERS.get(body.cashier_id);
    if (registerUrl === undefined) throw new UnprocessableEntityException('no such cashier');
    const items = body.items.map(({ price, qty, vatPercent, ...item }) => {
      // Of one piece, as the registers of the specification count it.
      const vat = Math.round((price * vatPercent) / (100 + vatPercent));
      return { ...item, price, amount: qty * 1_000, vatPercent, vat };
    });
    const total = body.items.reduce((sum, { price, qty }) => sum + price * qty, 0);
    const isCash = body.payment.method === 'cash';
    const receipt = await prisma.receipt.create({
      data: {
        ...{ id: randomUUID(), clientKey: clientKey ?? null, merchantId: 'merchant', registerUrl },
        document: { type: 'sale', items, received: { cash: isCash ? total : 0, card: isCash ? 0 : total } },
        totalTiyin: total,
      },
    });
    await queue.add('fiscalise', { id: receipt.id });
    return { id: receipt.id, status: receipt.status, created_at: receipt.createdAt };
  }

  @Get('ready')
  ready(): unknown {
    return { ready: true };
  }
}

@Module({ controllers: [ReceiptsController] })
class ObviousModule {}

const app = await NestFactory.create<NestFastifyApplication>(ObviousModule, new FastifyAdapter(), { logger: false });
app.useGlobalPipes(new ValidationPipe({ whitelist: true, transform: true }));
await app.listen(Number(process.env['PORT']), '127.0.0.1');
