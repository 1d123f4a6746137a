-- A register of a sandbox: it is in the relay, and nothing leads from it to a network.
ALTER TYPE "device_transport" ADD VALUE 'emulated';
