-- contract: 20261130122109_instruments_forgotten
DROP PROCEDURE forget_instruments();
