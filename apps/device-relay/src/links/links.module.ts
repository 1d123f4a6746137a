import { Module, type OnApplicationBootstrap, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { Metrics, type Logger } from '#runtime';
import type { RelaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { joinLinks, Links } from './links.js';

/** Hangs the links into the program: on its port, and into its start and stop. */
@Module({
  providers: [
    {
      provide: Links,
      inject: [SETTINGS_TOKEN, Metrics, LOGGER],
      useFactory: (settings: RelaySettings, metrics: Metrics, logger: Logger) => joinLinks(settings, metrics, logger),
    },
  ],
  exports: [Links],
})
export class LinksModule implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly links: Links,
    private readonly http: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    this.links.attach(this.http.httpAdapter.getInstance<FastifyInstance>());
  }

  onApplicationBootstrap(): void {
    this.links.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.links.stop();
  }
}
