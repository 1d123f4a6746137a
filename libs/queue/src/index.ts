export type { LaneJob } from './lane-jobs.js';
export { LANE_QUEUE_NAME } from './lane-jobs.js';
export type { LaneQueueBackend } from './lane-queue-backend.js';
export { laneQueueBackend } from './lane-queue-backend.js';
export { LaneBell } from './lane-bell.js';
export { LaneListener } from './lane-listener.js';
export { observeQueue } from './queue-metrics.js';
export type { QueueLog } from './queue-trouble.js';
export { QueueCounters } from './queue-trouble.js';
