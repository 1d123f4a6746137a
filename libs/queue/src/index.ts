export { LANE_QUEUE_NAME } from './lane-jobs.js';
export { laneQueueBackend } from './lane-queue-backend.js';
export { LaneBell } from './lane-bell.js';
export { LaneListener } from './lane-listener.js';
export { probeQueue } from './probe-queue.js';
export { checkedQueueUrl, parseQueueUrl } from './queue-address.js';
export { openRedis } from './redis-client.js';
export { observeQueue } from './queue-metrics.js';
export { QueueCounters } from './queue-trouble.js';
